"""The audit says of a broker's directories what a real broker did with them, and the quarantine can be undone."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import msgspec
import pytest

from broker_agent import storage
from metadata_log.directory.lock import LOCK_FILE, DirectoryLock
from metadata_log.directory.partition_metadata import write_partition_metadata
from metadata_log.errors import DirectoryLockedError
from metadata_log.files.os_files import OsFiles
from metadata_log.files.port import SMALL_FILE_LIMIT
from metadata_log.ids import parse_topic_id
from metadata_log.tools.partitions.audit import Audit, AuditError, WhenKafkaStarts, audit
from metadata_log.tools.partitions.quarantine import JOURNAL_FILE, QuarantineError, quarantine, read_journal, undo
from metadata_log.tools.read.sources import SourceError
from quorum.cli.main import run
from tests.support.damage import copy_cluster, other_bytes, quiet_batch, split, write
from tests.support.fixture_files import FIXTURES
from tests.support.readers import NOBODY

STRAY = FIXTURES / "stray"
FACTS = json.loads((STRAY / "scenario.json").read_text())["facts"]["what_became_of_broker_13"]
BEFORE, AFTER = FACTS["directories_before"], FACTS["directories_after"]
IMAGE = STRAY / "before" / "node-1"
META = "version=1\nnode.id=13\ncluster.id=MkU3OEVBNTcwNTJENDM2Qg\ndirectory.id=vFJ8dSl4SH2HLxQqkVDxNA\n"


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """Broker 13's log directory as it was before the broker came back."""
    disk = tmp_path / "node-13" / "data"
    disk.mkdir(parents=True)
    (disk / "meta.properties").write_text(META)
    for name, topic_id in BEFORE.items():
        (disk / name).mkdir()
        (disk / name / "00000000000000000000.log").write_bytes(name.encode())
        if topic_id:
            write_partition_metadata(OsFiles(), str(disk / name), parse_topic_id(topic_id))
    return disk


def entries(disk: Path) -> set[str]:
    return {entry.name for entry in disk.iterdir() if entry.is_dir()}


def contents(disk: Path) -> dict[str, bytes]:
    return {str(path.relative_to(disk)): path.read_bytes() for path in disk.rglob("*") if path.parent != disk}


def moved(found: Audit, to: Path | None = None) -> None:
    wrong = [audited for audited in found.directories if audited.is_wrong]
    quarantine(wrong, unique=[f"{index:032x}" for index in range(len(wrong))], now_ms=1, to=to)


def test_it_says_what_the_real_broker_did(disk: Path) -> None:
    found = audit([disk], [IMAGE])
    assert {audited.facts.name: audited.when_kafka_starts for audited in found.directories} == {
        name: WhenKafkaStarts.KEEPS if AFTER.get(name) == BEFORE[name] != "" else WhenKafkaStarts.SETS_ASIDE
        for name in BEFORE
    }
    strays = {name.rpartition(".")[0] for name in AFTER if name.endswith("-stray")}
    assert {audited.facts.name for audited in found.directories if audited.is_wrong} == strays
    assert found.broker_id == 13
    assert (found.image_end, found.image_epoch) >= (1, 1)


def test_each_verdict_has_its_reason(disk: Path) -> None:
    why = {
        audited.facts.name: (audited.verdict.kind.value, audited.verdict.why)
        for audited in audit([disk], [IMAGE]).directories
    }
    assert why["users-26-0"] == ("not a replica", "users-26-0 is on brokers 11, 12, not on 13")
    assert why["geo-99-0"][0] == "missing metadata"
    assert why["mail-90-0"][0] == "stale"
    assert FACTS["recreated_topic"]["old_id"] in why["mail-90-0"][1]
    assert why["orders-0-0"][0] == "keep"


def test_what_is_moved_is_moved_back_as_it_was(disk: Path) -> None:
    before, names = contents(disk), entries(disk)
    found = audit([disk], [IMAGE])
    moved(found)
    kept = {audited.facts.name for audited in found.directories if not audited.is_wrong}
    assert {name for name in entries(disk) if not name.endswith("-stray")} == kept
    assert len(entries(disk)) == len(names)
    assert not any(audited.is_wrong for audited in audit([disk], [IMAGE]).directories)
    assert len(undo([disk], now_ms=2)) == len(names) - len(kept)
    assert contents(disk) == before
    assert undo([disk], now_ms=3) == []


@pytest.mark.parametrize(
    "text",
    [
        "version: 0\r\ntopic_id: {}\r\n",
        "version: 1\ntopic_id: {}\n",
        "version:   0\ntopic_id:\t{}\nmore: fields\n",
    ],
)
def test_a_replica_whose_metadata_kafka_reads_is_kept_and_never_moved(disk: Path, text: str) -> None:
    """A later release of Kafka, or an editor, may have written it."""
    kept = {audited.facts.name for audited in audit([disk], [IMAGE]).directories if not audited.is_wrong}
    for name in kept:
        (disk / name / "partition.metadata").write_text(text.format(BEFORE[name]), newline="")
    found = audit([disk], [IMAGE])
    assert {audited.facts.name for audited in found.directories if not audited.is_wrong} == kept
    assert {
        audited.facts.name for audited in found.directories if audited.when_kafka_starts is WhenKafkaStarts.KEEPS
    } == kept
    moved(found)
    assert kept <= entries(disk)


def test_what_is_made_in_a_log_directory_is_its_owners(disk: Path) -> None:
    """Root quarantines for a broker that runs as another user, and has to open its lock."""
    if os.geteuid() == 0:
        os.chown(disk, NOBODY, NOBODY)
    for act in (lambda: moved(audit([disk], [IMAGE])), lambda: undo([disk], now_ms=2)):
        act()
        for name in (LOCK_FILE, JOURNAL_FILE):
            assert (disk / name).stat().st_uid == disk.stat().st_uid


def test_in_a_copy_the_copy_is_moved_back_and_the_broker_keeps_what_it_has(disk: Path, tmp_path: Path) -> None:
    before = contents(disk)
    moved(audit([disk], [IMAGE]))
    shutil.copytree(disk, tmp_path / "copy")
    running = DirectoryLock(OsFiles(), str(disk))
    try:
        after = contents(disk) | {JOURNAL_FILE: (disk / JOURNAL_FILE).read_bytes()}
        back = undo([tmp_path / "copy"], now_ms=2)
    finally:
        running.release()
    assert {Path(move.source).parent for move in back} == {tmp_path / "copy"}
    assert contents(tmp_path / "copy") == before
    assert contents(disk) | {JOURNAL_FILE: (disk / JOURNAL_FILE).read_bytes()} == after
    assert undo([tmp_path / "copy"], now_ms=3) == []
    assert len(undo([disk], now_ms=4)) == len(back)
    assert contents(disk) == before


def test_a_log_directory_that_was_itself_moved_is_moved_back(disk: Path, tmp_path: Path) -> None:
    before = contents(disk)
    moved(audit([disk], [IMAGE]), tmp_path / "aside")
    disk.rename(tmp_path / "new-place")
    undo([tmp_path / "new-place"], now_ms=2)
    assert contents(tmp_path / "new-place") == before


def test_what_was_moved_out_of_the_original_does_not_go_into_its_copy(disk: Path, tmp_path: Path) -> None:
    moved(audit([disk], [IMAGE]), tmp_path / "aside")
    shutil.copytree(disk, tmp_path / "copy")
    with pytest.raises(QuarantineError, match=r"is a copy of .*undo that there"):
        undo([tmp_path / "copy"], now_ms=2)
    assert {path.parent for path in (tmp_path / "aside").iterdir()} == {tmp_path / "aside"}
    undo([disk], now_ms=3)
    assert undo([tmp_path / "copy"], now_ms=4) == []


def test_out_of_log_dirs_foreign_directories_go_as_well(disk: Path, tmp_path: Path) -> None:
    (disk / "lost+found").mkdir()
    found = audit([disk], [IMAGE])
    assert found.directories[-1].when_kafka_starts is not WhenKafkaStarts.REFUSES
    foreign = next(audited for audited in found.directories if audited.facts.name == "lost+found")
    assert foreign.when_kafka_starts is WhenKafkaStarts.REFUSES
    with pytest.raises(QuarantineError, match=r"lost\+found has no name of a partition"):
        moved(found)
    assert "mail-90-0" in entries(disk)
    moved(found, tmp_path / "aside")
    assert "lost+found" not in entries(disk)
    undo([disk], now_ms=2)
    assert entries(disk) == {*BEFORE, "lost+found"}


@pytest.mark.parametrize("name", ["mail-90-0", f"gone-0.{'0' * 32}-stray", f"gone-0.{'0' * 32}-delete"])
def test_a_broken_partition_metadata_keeps_a_broker_from_starting(name: str, disk: Path, tmp_path: Path) -> None:
    """The directory's name makes no difference. Only a place outside log.dirs is out of the broker's way."""
    (disk / name).mkdir(exist_ok=True)
    (disk / name / "partition.metadata").write_text("rubbish")
    found = audit([disk], [IMAGE])

    (one,) = [audited for audited in found.directories if audited.facts.name == name]
    assert (one.when_kafka_starts, one.is_wrong) == (WhenKafkaStarts.REFUSES, True)
    with pytest.raises(QuarantineError, match="whatever its name is"):
        moved(found)

    moved(found, tmp_path / "aside")
    assert name not in entries(disk)


def test_the_cache_of_tiered_storage_is_left_where_it_is(disk: Path, tmp_path: Path) -> None:
    (disk / "remote-log-index-cache").mkdir()
    found = audit([disk], [IMAGE])
    cache = next(audited for audited in found.directories if audited.facts.name == "remote-log-index-cache")
    assert cache.when_kafka_starts is WhenKafkaStarts.LEAVES
    assert not cache.is_wrong
    moved(found, tmp_path / "aside")
    assert "remote-log-index-cache" in entries(disk)


def test_nothing_is_moved_within_a_log_directory(disk: Path) -> None:
    with pytest.raises(QuarantineError, match="is within"):
        moved(audit([disk], [IMAGE]), disk / "aside")
    assert entries(disk) == set(BEFORE)


def test_a_directory_that_came_anew_is_not_overwritten(disk: Path) -> None:
    moved(audit([disk], [IMAGE]))
    (disk / "mail-90-0").mkdir()
    with pytest.raises(QuarantineError, match="mail-90-0 is there again"):
        undo([disk], now_ms=2)


def test_after_a_crash_between_journal_and_move_there_is_nothing_to_undo(disk: Path) -> None:
    moved(audit([disk], [IMAGE]))
    moves = read_journal(disk)
    shutil.move(moves[0].target, moves[0].source)
    assert len(undo([disk], now_ms=2)) == len(moves) - 1
    assert entries(disk) == set(BEFORE)


def test_a_directory_in_the_place_of_a_partitions_metadata_is_judged_beside_the_others(disk: Path) -> None:
    before = {one.facts.name: one.verdict.kind for one in audit([disk], [IMAGE]).directories}
    (disk / "x-0" / "partition.metadata").mkdir(parents=True)
    found = {one.facts.name: one for one in audit([disk], [IMAGE]).directories}
    assert found["x-0"].is_unreadable
    del found["x-0"]
    assert {name: one.verdict.kind for name, one in found.items()} == before


def test_a_running_broker_is_left_alone(disk: Path) -> None:
    found = audit([disk], [IMAGE])
    held = OsFiles().lock(str(disk / ".lock"))
    try:
        with pytest.raises(DirectoryLockedError):
            moved(found)
    finally:
        held.release()
    assert entries(disk) == set(BEFORE)


@pytest.mark.parametrize("rest", [b'{"sou', b'{"source":"/data/mail-90-0","tar', b"\0" * 300, b'{"source":"/d\0\0\0'])
def test_a_line_that_a_power_cut_left_unfinished_stands_for_no_move(disk: Path, rest: bytes) -> None:
    moved(audit([disk], [IMAGE]))
    journal = disk / JOURNAL_FILE
    whole = journal.read_bytes()
    journal.write_bytes(whole + rest)
    assert {one.source for one in undo([disk], now_ms=2)} == {one.source for one in read_journal(disk)}
    assert journal.read_bytes().startswith(whole + b'{"source":')
    assert entries(disk) == set(BEFORE)
    journal.write_bytes(journal.read_bytes() + rest)
    moved(audit([disk], [IMAGE]))
    undo([disk], now_ms=3)
    assert entries(disk) == set(BEFORE)


def test_a_journal_of_any_length_can_be_undone(disk: Path) -> None:
    moved(audit([disk], [IMAGE]))
    journal = disk / JOURNAL_FILE
    lines = journal.read_bytes().splitlines(keepends=True)
    undone = msgspec.json.encode(msgspec.structs.replace(read_journal(disk)[0], is_undone=True)) + b"\n"
    journal.write_bytes((lines[0] + undone) * (SMALL_FILE_LIMIT // len(lines[0] + undone) + 1) + b"".join(lines))
    assert journal.stat().st_size > SMALL_FILE_LIMIT
    undo([disk], now_ms=2)
    assert entries(disk) == set(BEFORE)


@pytest.mark.parametrize("line", [b"rubbish\n", b"rubbish", b'{"source":"\xff"}\n'])
def test_a_journal_that_is_none_is_named(disk: Path, line: bytes) -> None:
    (disk / JOURNAL_FILE).write_bytes(line)
    with pytest.raises(QuarantineError, match="is no journal"):
        undo([disk], now_ms=2)


def test_a_long_name_is_cut_as_kafka_cuts_it(disk: Path) -> None:
    name = "n" * 249 + "-12"
    (disk / name).mkdir()
    moved(audit([disk], [IMAGE]))
    (stray,) = (entry for entry in entries(disk) if entry.startswith("nnn"))
    assert len(stray) == 255
    assert stray.partition("-")[2].startswith("12.")


def test_without_metadata_or_with_two_brokers_there_is_no_verdict(disk: Path, tmp_path: Path) -> None:
    with pytest.raises(AuditError, match="--image"):
        audit([disk])
    other = tmp_path / "other"
    other.mkdir()
    (other / "meta.properties").write_text(META.replace("13", "14"))
    with pytest.raises(AuditError, match=r"node 13.s, node 14.s"):
        audit([disk, other], [IMAGE])


def test_another_clusters_image_judges_nothing(disk: Path, clusters: Path) -> None:
    (disk / "meta.properties").write_text(META.replace("MkU3OEVBNTcwNTJENDM2Qg", "ZWluIGFuZGVyZXIgQ2x1cw"))
    with pytest.raises(SourceError, match=r"2 clusters.*ZWluIGFuZGVyZXIgQ2x1cw"):
        audit([disk], [clusters / "basic" / "node-1"])


def test_logs_that_contradict_each_other_judge_nothing(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    path = cluster.segment(2)
    batches = split(path)
    number = quiet_batch(path)
    batches[number] = other_bytes(batches[number])
    write(path, batches)
    broker = cluster.node(11)
    sound = [cluster.node(1), cluster.node(3)]
    assert not any(audited.is_wrong for audited in audit([broker], sound).directories)
    with pytest.raises(AuditError, match=r"contradict each other: on node 2"):
        audit([broker], [*sound, cluster.node(2)])


def test_the_command_finds_moves_and_undoes(disk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["storage", "audit", str(disk), "--image", str(IMAGE)]
    assert run([*words, "-o", "json"]) == 1
    rows = json.loads(capsys.readouterr().out)["directories"]
    assert {row["directory"].rpartition("/")[2] for row in rows} == set(BEFORE)
    assert run([*words, "--quarantine"]) == 0
    assert "13 moved" in capsys.readouterr().out
    assert run(words) == 0
    assert run(["storage", "audit", str(disk), "--undo"]) == 0
    assert "Moved back: 13." in capsys.readouterr().out
    assert entries(disk) == set(BEFORE)
    assert run(["storage", "audit", str(disk), "--undo", "--quarantine"]) == 2
    assert run(["storage", "audit", str(disk / "nowhere")]) == 2


def test_what_does_not_belong_comes_first(disk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["storage", "audit", str(disk), "--image", str(IMAGE), "-o", "json"]
    assert run(words) == 1
    verdicts = [row["verdict"] for row in json.loads(capsys.readouterr().out)["directories"]]
    assert run([*words, "--problems"]) == 1
    problems = [row["verdict"] for row in json.loads(capsys.readouterr().out)["directories"]]

    assert "keep" in verdicts
    assert verdicts == [*problems, *["keep"] * (len(verdicts) - len(problems))]
    assert "keep" not in problems


def test_where_all_belongs_only_the_count_is_left(
    clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node = shutil.copytree(clusters / "static-3.9" / "node-12", tmp_path / "node-12")
    for deleted in (node / "data").glob("*-delete"):
        shutil.rmtree(deleted)

    assert run(["storage", "audit", str(node), "--problems"]) == 0

    line = capsys.readouterr().out.splitlines()[0]
    assert line.startswith("Broker 12: ")
    assert "0 of which do not belong" in line


def test_what_an_agent_of_ours_is_about_to_delete_is_its_own(disk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Made as the agent makes it: nothing here is foreign, nothing is moved, and each says when it goes."""
    for name in BEFORE:
        shutil.rmtree(disk / name)
    files, topic_id = OsFiles(), parse_topic_id("AbCdEfGhIjKlMnOpQrStUw")
    stale = storage.create(files, str(disk), "orders", 0, topic_id)
    (Path(stale.path) / "00000000000000000000.log").write_bytes(b"12345")
    at_ms = 1_700_000_000_123
    times = storage.RemovalTimes(remove_at_ms=at_ms, staged_at_ms=at_ms - 1, delay_ms=1, due_ms=1)
    storage.stage(files, stale, times)
    (disk / "deleting" / "new.half-0").mkdir()
    found = {audited.facts.name: audited for audited in audit([disk], [IMAGE]).directories}
    staged = found.pop("deleting/AbCdEfGhIjKlMnOpQrStUw_0")
    assert (staged.facts.topic_id, staged.facts.partition) == (topic_id, 0)
    assert "52 bytes, which go after 2023-11-14T22:13:20.123Z" in staged.verdict.why
    assert staged.when_kafka_starts is WhenKafkaStarts.REFUSES
    assert not staged.is_wrong
    assert "cleared away" in found.pop("deleting/new.half-0").verdict.why
    assert found == {}
    words = ["storage", "audit", str(disk), "--image", str(IMAGE)]
    assert run(words) == 0
    assert "2 under deleting/ are our agent's" in capsys.readouterr().out
    assert run([*words, "--quarantine"]) == 0
    assert {entry.name for entry in (disk / "deleting").iterdir()} == {"AbCdEfGhIjKlMnOpQrStUw_0", "new.half-0"}


def test_the_agents_place_when_empty_and_with_something_foreign_in_it(disk: Path) -> None:
    (disk / "deleting").mkdir()
    found = {audited.facts.name: audited for audited in audit([disk], [IMAGE]).directories}
    assert not found["deleting"].is_wrong
    (disk / "deleting" / "holiday").mkdir()
    (disk / "deleting" / "AbCdEfGhIjKlMnOpQrStUw_0").mkdir()
    found = {audited.facts.name: audited for audited in audit([disk], [IMAGE]).directories}
    assert found["deleting/holiday"].is_wrong
    assert "from the agent's next start on" in found["deleting/AbCdEfGhIjKlMnOpQrStUw_0"].verdict.why


def test_one_is_said_to_be_one(disk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in BEFORE:
        shutil.rmtree(disk / name)
    (disk / f"orders-0.{'0' * 32}-stray").mkdir()
    (disk / "users-26-0").mkdir()
    assert run(["storage", "audit", str(disk), "--image", str(IMAGE)]) == 1
    said = capsys.readouterr().out
    assert "Broker 13: 2 directories, 1 of which does not belong." in said
    assert "1 was set aside before (-stray): it takes space;" in said
