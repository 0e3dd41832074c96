"""The dump of a file in pieces: both of Kafka's texts, JSON and CSV, what is chosen, what is followed, who writes."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from metadata_log.errors import CorruptBatchError
from metadata_log.files.os_files import OsFiles
from metadata_log.format.batch import batch_records, build_batch
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import (
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    TopicRecord,
    decode_record,
    encode_record,
)
from metadata_log.records.json_form import data_of, json_text, type_name
from metadata_log.records.printing import metadata_text
from metadata_log.records.serde import decode_versioned
from metadata_log.tools.dump.dump import batches_of, dump_rows, dump_text, show_text
from metadata_log.tools.dump.follow import Added, CutBack, Follower, Opened, Removed
from metadata_log.tools.dump.lines import Style, common_values
from metadata_log.tools.dump.pieces import PIECE_BYTES, Piece, pieces
from metadata_log.tools.dump.rows import COLUMNS, CSV_HEAD, show_csv, show_json_lines, text_rows
from metadata_log.tools.dump.selection import BrokerPartitions, Selection, ids_of, known_types, plain_type
from metadata_log.tools.dump.turns import Rendered, write_in_turns
from tests.support.fixture_files import DUMPS, FIXTURES, METADATA_FILES, file_id, records_in
from tests.support.records import METADATA_VERSIONS_OF, bare_record, full_record
from tests.support.vanishing import vanishing

LOG = FIXTURES / "every-record" / "node-2" / "data" / "__cluster_metadata-0" / "00000000000000000000.log"
NO_OP = encode_record(NoOpRecord(), 0)


def only_piece(path: Path) -> Piece:
    (piece,) = pieces(OsFiles().open(str(path), read_only=True), path.stat().st_size)
    return piece


def offsets(selection: Selection, path: Path = LOG) -> list[int]:
    return [row.offset for row in text_rows(only_piece(path), selection)]


def batch(base_offset: int, *values: bytes) -> bytes:
    return build_batch(base_offset=Offset(base_offset), epoch=Epoch(2), timestamp_ms=1000, values=values or (NO_OP,))


@pytest.mark.parametrize("oracle", [path for path in DUMPS if "static-3.9" in path.parts], ids=file_id)
def test_the_text_of_3_9_is_its_tools(oracle: Path) -> None:
    expected = gzip.decompress(oracle.read_bytes()).decode()
    dumped = expected.partition("\n")[0].removeprefix("Dumping ")
    content = (FIXTURES / "static-3.9" / dumped).read_bytes()
    assert "".join(f"{line}\n" for line in dump_text(dumped, content, Style.KAFKA_3_9)) == expected


def test_3_9_does_not_know_records_of_4_3() -> None:
    text = "\n".join(dump_text(str(LOG), LOG.read_bytes(), Style.KAFKA_3_9))
    assert "UnsupportedVersionException: Unknown metadata id 28" in text
    assert "Failed to deserialize record with type 0" in text
    assert '"BROKER_REGISTRATION_CHANGE_RECORD","version":3' in text
    assert "cordonedLogDirs" not in text


@pytest.mark.parametrize(("record", "version"), METADATA_VERSIONS_OF)
@pytest.mark.parametrize("make", [bare_record, full_record])
def test_generated_printers_say_what_the_json_form_says(record: type, version: int, make: type) -> None:
    value = encode_record(make(record, version), version)
    decoded, read_as = decode_versioned(value)
    whole = {"type": type_name(type(decoded)), "version": read_as, "data": data_of(decoded, read_as)}
    assert metadata_text(value) == json_text(whole)


@pytest.mark.parametrize("pairs", [1, 40, 2, 5000])
def test_the_quick_way_and_the_long_way_print_alike(pairs: int) -> None:
    values = [NO_OP, encode_record(TopicRecord(name="n" * 200, topic_id=bytes(range(16))), 0)] * pairs
    piece = Piece(position=0, size=len(content := batch(0, *values)), buffer=content)
    chosen_one_by_one = Selection(from_offset=0)
    assert show_text(piece).text == show_text(piece, Style.KAFKA_4_3, chosen_one_by_one).text


@pytest.mark.parametrize("path", METADATA_FILES, ids=file_id)
def test_values_of_the_common_shape_are_those_of_all_records(path: Path) -> None:
    content = path.read_bytes()
    for at, header in batches_of(only_piece(path)):
        values = common_values(content, header, at)
        records = batch_records(content, header, at)
        plain = all(
            (record.key, record.headers, record.timestamp_ms) == (None, (), header.base_timestamp) for record in records
        )
        assert values == ([record.value for record in records] if plain and not header.attributes else None)


@pytest.mark.parametrize("path", METADATA_FILES, ids=file_id)
def test_json_lines_and_csv_hold_every_row(path: Path) -> None:
    piece, everything = only_piece(path), Selection()
    expected = [(row.offset, row.type, row.data) for row in dump_rows(path.read_bytes())]
    parsed = [json.loads(line) for line in show_json_lines(piece, "a.log", everything).text.splitlines()]
    assert [(row["offset"], row["type"], row["data"]) for row in parsed] == expected
    assert all(tuple(row) == COLUMNS and row["file"] == "a.log" for row in parsed)
    table = list(csv.DictReader(io.StringIO(CSV_HEAD + show_csv(piece, "a.log", everything).text)))
    assert [(int(row["offset"]), row["type"], json.loads(row["data"])) for row in table] == expected


def test_a_flipped_bit_shows_in_every_row_of_its_batch() -> None:
    content = bytearray(batch(0, NO_OP, encode_record(TopicRecord(name="orders", topic_id=bytes(16)), 0)))
    content[-20] ^= 1
    piece = Piece(position=0, size=len(content), buffer=bytes(content))
    assert [row.error for row in text_rows(piece, Selection())] == ["the checksum of its batch is wrong"] * 2


def test_a_selection_is_by_offset_time_epoch_and_type() -> None:
    rows = list(dump_rows(LOG.read_bytes()))
    middle = rows[len(rows) // 2]
    assert offsets(Selection()) == [row.offset for row in rows]
    assert offsets(Selection(from_offset=10, to_offset=13)) == [10, 11, 12]
    assert offsets(Selection(since_ms=middle.timestamp_ms)) == [
        row.offset for row in rows if row.timestamp_ms >= middle.timestamp_ms
    ]
    assert offsets(Selection(until_ms=middle.timestamp_ms, epochs=frozenset({middle.epoch}))) == [
        row.offset for row in rows if row.timestamp_ms < middle.timestamp_ms and row.epoch == middle.epoch
    ]
    wanted = {"LEADER_CHANGE", "TOPIC_RECORD"}
    assert offsets(Selection(types=frozenset(map(plain_type, wanted)))) == [r.offset for r in rows if r.type in wanted]


def test_a_type_may_be_spelt_in_several_ways() -> None:
    assert {plain_type(text) for text in ("NO_OP_RECORD", "NoOpRecord", "no-op", "noop")} == {"noop"}
    assert known_types()["kraftvoters"] == "KRAFT_VOTERS"


def test_a_topic_is_followed_by_all_its_ids_and_its_configs() -> None:
    rows = list(dump_rows(LOG.read_bytes()))
    name = next(row.data["name"] for row in rows if row.type == "TOPIC_RECORD" and row.data)
    values = [record.value for header, record in records_in(LOG) if not header.is_control and record.value]
    ids = ids_of(frozenset({str(name)}), [values])
    texts = {json_text(topic_id) for topic_id in _id_texts(ids)}
    chosen = offsets(Selection(topic_ids=frozenset(ids), topic_names=frozenset({str(name)})))
    assert set(chosen) >= {row.offset for row in rows if any(text in json_text(row.data) for text in texts)}
    named = [row for row in rows if row.type == "CONFIG_RECORD" and row.data and row.data["resourceName"] == name]
    assert set(chosen) >= {row.offset for row in named}
    assert len(chosen) < len(rows)


def test_a_broker_is_followed_as_node_and_as_replica() -> None:
    rows = {row.offset: row for row in dump_rows(LOG.read_bytes())}
    kinds = {rows[offset].type for offset in offsets(Selection(broker_id=13))}
    assert {"REGISTER_BROKER_RECORD", "UNREGISTER_BROKER_RECORD", "PARTITION_RECORD"} <= kinds
    assert offsets(Selection(broker_id=99)) == []


def test_a_broker_is_followed_when_it_leaves_the_isr() -> None:
    """The change that takes it out names it no more, and is of a partition that it is a replica of."""
    values = {record.offset: record.value for header, record in records_in(LOG) if not header.is_control}
    held, out = set(), set()
    for offset, value in values.items():
        record = decode_record(value or b"")
        if isinstance(record, PartitionRecord) and 13 in record.replicas:
            held.add((record.topic_id, record.partition_id))
        elif isinstance(record, PartitionChangeRecord) and (record.topic_id, record.partition_id) in held:
            out |= {offset} if record.isr and 13 not in record.isr else set()
    assert out
    found = BrokerPartitions(13)
    found.take([[value for value in values.values() if value]])

    assert set(offsets(Selection(broker_id=13, broker_partitions=found))) >= out
    assert set(offsets(Selection(broker_id=13, broker_partitions=BrokerPartitions(13)))) >= out
    assert not set(offsets(Selection(broker_id=13))) >= out


def _id_texts(ids: set) -> Iterator[str]:  # type: ignore[type-arg]
    from metadata_log.ids import id_text  # noqa: PLC0415

    yield from map(id_text, ids)


def test_pieces_are_whole_batches_whatever_their_size(tmp_path: Path) -> None:
    big = batch(1, *[b"\x01\x14\x00\x00"] * (PIECE_BYTES // 8))
    assert len(big) > PIECE_BYTES
    path = tmp_path / "x.log"
    path.write_bytes(batch(0) + big + batch(200_000) + b"torn")
    found = list(pieces(OsFiles().open(str(path), read_only=True), path.stat().st_size))
    assert [header.base_offset for piece in found for _, header in batches_of(piece)] == [0, 1, 200_000]
    assert found[-1].end == path.stat().st_size - 4


@pytest.mark.parametrize(("length", "fault"), [(-1, "less than"), (48, "less than"), (2**31 - 1, "more than any")])
def test_a_length_that_is_none_is_refused_without_asking_for_memory(length: int, fault: str, tmp_path: Path) -> None:
    damaged = bytearray(batch(1))
    damaged[8:12] = length.to_bytes(4, "big", signed=True)
    path = tmp_path / "x.log"
    path.write_bytes(batch(0) + bytes(damaged))
    stream = pieces(OsFiles().open(str(path), read_only=True), 2**40)
    assert next(stream).size == len(batch(0))
    with pytest.raises(CorruptBatchError, match=fault):
        next(stream)


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_processes_write_in_turn(count: int) -> None:
    stream = [Piece(position=at, size=1, buffer=bytes((at,))) for at in range(23)]
    assert _written(stream, count) == bytes(range(23))


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("bad", [0, 1, 7, 22])
def test_an_error_of_any_process_ends_all_after_what_stands_before_it(count: int, bad: int) -> None:
    stream = [Piece(position=at, size=1, buffer=bytes((at,))) for at in range(23)]
    reading, writing = os.pipe()

    def render(piece: Piece) -> Rendered:
        error = CorruptBatchError("planted", position=bad) if piece.position == bad else None
        return Rendered(content=piece.buffer, error=error)

    with pytest.raises(CorruptBatchError, match="planted"):
        write_in_turns(lambda: iter(stream), render, writing, count)
    os.close(writing)
    assert os.read(reading, 100) == bytes(range(bad + 1))
    os.close(reading)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_reader_that_leaves_ends_all(count: int) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    stream = [Piece(position=at, size=1, buffer=b"x") for at in range(9)]
    with pytest.raises(BrokenPipeError):
        write_in_turns(lambda: iter(stream), lambda piece: Rendered(content=piece.buffer), writing, count)
    os.close(writing)


def _written(stream: list[Piece], count: int) -> bytes:
    reading, writing = os.pipe()
    write_in_turns(lambda: iter(stream), lambda piece: Rendered(content=piece.buffer), writing, count)
    os.close(writing)
    content = os.read(reading, 4096)
    os.close(reading)
    return content


class TestFollower:
    """A log that grows while the follower reads it."""

    @pytest.fixture
    def log(self, tmp_path: Path) -> Path:
        path = tmp_path / "00000000000000000000.log"
        path.write_bytes(batch(0))
        return path

    @pytest.fixture
    def follower(self, log: Path) -> Iterator[Follower]:
        follower = Follower(OsFiles(), str(log.parent))
        yield follower
        follower.close()

    @staticmethod
    def bases(follower: Follower) -> list[int]:
        added = [event.piece for event in follower.poll() if isinstance(event, Added)]
        return [header.base_offset for piece in added for _, header in batches_of(piece)]

    def test_it_shows_each_batch_once(self, log: Path, follower: Follower) -> None:
        first, *rest = follower.poll()
        assert first == Opened(path=str(log))
        assert len(rest) == 1
        assert self.bases(follower) == []
        with log.open("ab") as writing:
            writing.write(batch(1) + batch(2) + batch(3)[:70])
        assert self.bases(follower) == [1, 2]
        with log.open("ab") as writing:
            writing.write(batch(3)[70:])
        assert self.bases(follower) == [3]

    def test_it_goes_on_in_the_next_segment(self, log: Path, follower: Follower) -> None:
        assert self.bases(follower) == [0]
        with log.open("ab") as writing:
            writing.write(batch(1))
        (log.parent / "00000000000000000002.log").write_bytes(batch(2))
        assert self.bases(follower) == [1, 2]

    def test_it_starts_where_the_log_does_and_survives_a_deleted_segment(self, log: Path, follower: Follower) -> None:
        later = log.parent / "00000000000000000001.log"
        later.write_bytes(batch(1))
        assert self.bases(follower) == [0, 1]
        log.unlink()
        with later.open("ab") as writing:
            writing.write(batch(2))
        assert self.bases(follower) == [2]

    def test_a_log_that_is_cut_back_is_told_and_read_anew(self, log: Path, follower: Follower) -> None:
        with log.open("ab") as writing:
            writing.write(batch(1) + batch(2))
        assert self.bases(follower) == [0, 1, 2]
        log.write_bytes(batch(0) + batch(1) + batch(2, NO_OP, NO_OP))
        cut, added = follower.poll()
        assert cut == CutBack(path=str(log), position=len(batch(0) + batch(1)))
        assert isinstance(added, Added)
        assert added.piece.size == len(batch(2, NO_OP, NO_OP))

    def test_a_batch_that_is_being_written_into_claimed_space_waits(self, log: Path, follower: Follower) -> None:
        whole = batch(1)
        log.write_bytes(batch(0) + whole[:65] + bytes(200))
        assert self.bases(follower) == [0]
        log.write_bytes(batch(0) + whole + bytes(200 - len(whole) + 65))
        assert self.bases(follower) == [1]

    def test_a_batch_that_stays_damaged_is_shown(self, log: Path, follower: Follower) -> None:
        damaged = bytearray(batch(1))
        damaged[-1] ^= 1
        log.write_bytes(batch(0) + bytes(damaged))
        assert [self.bases(follower) for _ in range(3)] == [[0], [1], []]

    def test_a_segment_that_is_removed_before_it_is_opened_is_told(self, log: Path, follower: Follower) -> None:
        following = log.with_name("00000000000000000001.log")
        following.write_bytes(batch(1))
        with vanishing(log, stays=0):
            events = list(follower.poll())
        assert events[:2] == [Removed(path=str(log)), Opened(path=str(following))]
        assert [event.piece.size for event in events[2:] if isinstance(event, Added)] == [len(batch(1))]


def test_a_follower_does_not_hold_the_log_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(b"".join(batch(at) for at in range(50_000)))
    follower = Follower(OsFiles(), str(tmp_path))
    sizes = [event.piece.size for event in islice(follower.poll(), 10) if isinstance(event, Added)]
    assert len(sizes) > 2
    assert max(sizes) <= PIECE_BYTES
    follower.close()
