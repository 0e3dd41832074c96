"""The timeline agrees with the cluster's own record of the scenario, and its drawing leaves nothing out."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from metadata_log.errors import MalformedRecordError
from metadata_log.format.batch import build_batch, parse_header
from metadata_log.ids import NodeId
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import UnfenceBrokerRecord, encode_record
from metadata_log.storage.segment import LocatedBatch
from metadata_log.tools.pictures.timeline import timeline_headline, timeline_html, timeline_svg
from metadata_log.tools.read.history import open_history
from metadata_log.tools.timeline import EventKind, Timeline, merged, timeline_of
from quorum import __version__
from quorum.cli.main import run
from tests.support.image_logs import FIXTURES

_RUN = "from quorum.cli.main import run; sys.exit(run({}))"


def _timeline(*nodes: str, gap_ms: int = 5000) -> Timeline:
    logs = (open_history(FIXTURES / node / "data" / "__cluster_metadata-0") for node in nodes)
    return merged(timeline_of(log.batches(), gap_ms) for log in logs)


@pytest.mark.parametrize(
    "scenario", ["basic", "basic-4.4", "every-record", "every-record-4.4", "failovers", "failovers-4.4"]
)
def test_elections_are_those_of_the_scenario(scenario: str) -> None:
    facts = json.loads((FIXTURES / scenario / "scenario.json").read_text())["facts"]
    known = {(one["epoch"], one["leader"], one["offset"]) for one in facts["elections"]}
    found = {
        (event.epoch, event.node_id, event.offset)
        for event in _timeline(f"{scenario}/node-1", f"{scenario}/node-2").events
        if event.kind is EventKind.ELECTION
    }
    assert found
    assert found <= known


def test_brokers_come_are_fenced_and_go() -> None:
    events = [event for event in _timeline("basic/node-1").events if event.node_id == 11]
    kinds = [event.kind for event in events]
    assert kinds[:2] == [EventKind.REGISTERED, EventKind.UNFENCED]
    assert {EventKind.SHUTDOWN, EventKind.FENCED} <= set(kinds)
    assert [event.offset for event in events] == sorted(event.offset for event in events)


def _run(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, object]]:
    assert run(["log", "timeline", *words, "-o", "jsonl"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_trimmed_log_begins_with_its_checkpoints_state(capsys: pytest.CaptureFixture[str]) -> None:
    node = FIXTURES / "failovers" / "node-2" / "data"
    history = open_history(node / "__cluster_metadata-0")
    state = history.trimmed_state()
    assert state is not None
    assert history.segments[0][0] > 0

    events = _run(capsys, str(node))

    brokers = {one["node_id"]: one["kind"] for one in events if str(one["kind"]).startswith("already-")}
    assert brokers == {
        int(node_id): "already-fenced" if broker.fenced else "already-unfenced"
        for node_id, broker in state.image.cluster.brokers.items()
    }
    assert brokers
    begin = [str(one["text"]) for one in events if one["kind"] == "state"]
    assert any(f"the leader of epoch {state.image.offset_and_epoch.epoch} is not known" in text for text in begin)
    assert "metadata.version is 4.3-IV0 (30)" in begin


def test_a_segment_alone_says_that_what_was_before_is_not_known(capsys: pytest.CaptureFixture[str]) -> None:
    segments = open_history(FIXTURES / "failovers" / "node-2" / "data" / "__cluster_metadata-0").segments

    first, *_ = _run(capsys, str(segments[0][1]))

    assert (first["kind"], first["offset"]) == ("state", segments[0][0])
    assert "are not known" in str(first["text"])


def test_a_whole_log_needs_no_state_and_names_its_level() -> None:
    events = _timeline("basic/node-1").events
    assert not [event for event in events if event.kind is EventKind.STATE]
    assert "metadata.version is 4.3-IV0 (30)" in [event.text for event in events]


def test_a_pause_is_a_gap_when_it_is_longer_than_asked() -> None:
    gaps = [event for event in _timeline("failovers/node-1", gap_ms=2000).events if event.kind is EventKind.GAP]
    assert gaps
    assert all(event.duration_ms is not None and event.duration_ms > 2000 for event in gaps)
    assert not [e for e in _timeline("failovers/node-1", gap_ms=600_000).events if e.kind is EventKind.GAP]


def test_replicas_tell_one_story() -> None:
    together = _timeline("basic/node-1", "basic/node-2", "basic/node-3")
    for node in ("basic/node-1", "basic/node-2", "basic/node-3"):
        assert [event for event in _timeline(node).events if event not in together.events] == []
    assert len(together.events) == len({event.offset for event in together.events})


def test_the_headline_says_how_many_elections_when_and_who_leads() -> None:
    assert timeline_headline(_timeline("failovers/node-1", "failovers/node-2")).endswith("; node 3 leads in epoch 9")
    assert timeline_headline(_timeline("basic/node-1")).startswith("1 election in 7.")
    assert " on 20 Nov 2026; node 3 leads in epoch 1" in timeline_headline(_timeline("basic/node-1"))
    empty = Timeline(start_ms=0, end_ms=0, end_offset=0, events=())
    assert timeline_headline(empty) == "The log is empty"
    assert timeline_headline(msgspec.structs.replace(empty, end_offset=7)) == "0 elections; the log carries no times"


def test_a_time_that_damage_made_is_drawn_at_the_end_of_the_calendar() -> None:
    timeline = msgspec.structs.replace(_timeline("basic/node-1"), end_ms=2**62)
    assert "node 3 leads" in timeline_svg(timeline, "a log")
    assert "31 Dec 9999" in timeline_html(timeline, "a log")


@pytest.mark.parametrize("suffix", [".html", ".svg"])
def test_a_picture_names_no_absolute_path_and_a_page_its_version(
    suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture, log = tmp_path / f"cluster{suffix}", FIXTURES / "basic" / "node-1" / "data"
    assert run(["log", "timeline", str(log), "--picture", str(picture)]) == 0
    capsys.readouterr()
    drawn = picture.read_text()
    assert str(FIXTURES) not in drawn
    assert re.search(r"[Mm]etadata log of (\w+/)*node-1/data", drawn)
    assert "prefers-color-scheme: dark" in drawn
    if suffix == ".html":
        assert re.search(rf"made \d+ \w+ \d+, \d\d:\d\d UTC by kraft {re.escape(__version__)}", drawn)
    else:
        assert "var(--" not in drawn


def test_an_svg_for_pixels_has_one_ground() -> None:
    assert "prefers-color-scheme" not in timeline_svg(_timeline("basic/node-1"), "a log", is_light=True)


def test_the_picture_has_every_election_and_nothing_from_elsewhere() -> None:
    timeline = _timeline("failovers/node-1", "failovers/node-2")
    svg = timeline_svg(timeline, "A <cluster> & its log")
    hints = [title.text or "" for title in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}title")]
    for event in timeline.events:
        if event.kind is EventKind.ELECTION:
            assert any(event.text in hint and f"epoch {event.epoch}," in hint for hint in hints)
    page = timeline_html(timeline, "A <cluster>")
    assert page.count("<tr>") == len(timeline.events) + 1
    assert "<script" not in page
    assert [part for part in page.split('"') if part.startswith("http")] == []
    assert [part for part in svg.split('"') if part.startswith("http")] == ["http://www.w3.org/2000/svg"]


def _batch(*values: bytes) -> LocatedBatch:
    content = build_batch(base_offset=Offset(95), epoch=Epoch(1), timestamp_ms=1, values=values)
    return LocatedBatch(position=0, header=parse_header(content), buffer=content, at=0)


def test_a_record_that_cannot_be_read_is_named_by_its_offset() -> None:
    with pytest.raises(MalformedRecordError, match="at offset 96"):
        timeline_of([_batch(b"\x01\x14\x00\x00", b"\x01\x02")], gap_ms=1000)


def test_records_of_a_later_release_are_passed_over_and_named_once() -> None:
    unfence = encode_record(UnfenceBrokerRecord(id=NodeId(11), epoch=5), 0)
    batch = _batch(b"\x01\x63\x00", unfence, b"\x01\x63\x00")

    found = merged([timeline_of([batch], gap_ms=1000), timeline_of([batch], gap_ms=1000)])

    assert [event.text for event in found.events] == ["broker 11 is unfenced"]
    assert (found.not_shown or "").count("records of type 99") == 1


def test_an_empty_timeline_is_drawn_too() -> None:
    empty = Timeline(start_ms=0, end_ms=0, end_offset=0, events=())
    ElementTree.fromstring(timeline_svg(empty, "nothing"))


def _pixels(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    return int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")


def test_the_picture_as_png(tmp_path: Path) -> None:
    """Twice as large as the SVG: for screens of today."""
    picture = tmp_path / "cluster.png"
    words = ["log", "timeline", str(FIXTURES / "basic"), "--picture"]

    assert run([*words, str(picture)]) == 0
    assert run([*words, str(tmp_path / "cluster.svg")]) == 0

    svg = ElementTree.parse(tmp_path / "cluster.svg").getroot()
    assert _pixels(picture.read_bytes()) == (2 * int(svg.attrib["width"]), 2 * int(svg.attrib["height"]))
    assert run([*words, str(picture)]) == 2


def test_a_png_without_the_extra_names_it(tmp_path: Path) -> None:
    (tmp_path / "resvg_py.py").write_text("raise ModuleNotFoundError('none', name='resvg_py')")
    words = ["log", "timeline", str(FIXTURES / "basic"), "--picture", str(tmp_path / "cluster.png")]

    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {_RUN.format(words)}"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert "package resvg-py is not installed, which the extra 'analysis' brings: " in done.stderr
    assert not (tmp_path / "cluster.png").exists()


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["log", "timeline", str(FIXTURES / "basic")]
    assert run([*words, "--picture", str(tmp_path / "cluster.svg")]) == 0
    assert " election " in capsys.readouterr().out
    assert (tmp_path / "cluster.svg").read_text().startswith("<svg")
    assert run([*words, "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["events"][0]["kind"] == "election"
    assert run([*words, "--picture", str(tmp_path / "cluster.svg")]) == 2
    assert run([*words, "--picture", str(tmp_path / "cluster.bmp")]) == 2
    assert run(["log", "timeline", str(tmp_path)]) in (1, 2)
