"""The functions of `kraft` that read logs say what the commands say."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

import kraft
from quorum.cli.main import run
from tests.support.fixture_files import FIXTURES

NODES = [FIXTURES / "basic" / f"node-{number}" / "data" for number in (1, 2, 3)]


def _said(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    run([*words, "-o", "json"])
    said: dict[str, object] = json.loads(capsys.readouterr().out)
    return said


def test_check_finds_what_the_command_finds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert kraft.check(*NODES).is_sound
    broken = shutil.copytree(NODES[0], tmp_path / "data")
    (segment,) = broken.glob("__cluster_metadata-0/*0.log")
    data = bytearray(segment.read_bytes())
    data[200] ^= 1
    segment.write_bytes(data)

    report = kraft.check(broken, NODES[1])

    assert not report.is_sound
    assert [one.kind for one in report.findings if one.severity is kraft.Severity.ERROR]
    found = _said(capsys, "check", str(broken), str(NODES[1]))["findings"]
    assert isinstance(found, list)
    assert [one["meaning"] for one in found] == [one.meaning for one in report.findings]
    with pytest.raises(kraft.HistoryError):
        kraft.image_at(broken)


def test_diff_and_timeline(capsys: pytest.CaptureFixture[str]) -> None:
    assert kraft.diff(*NODES).common_end == _said(capsys, "log", "diff", *map(str, NODES))["common_end"]
    report = kraft.timeline(*NODES)
    assert report.is_whole
    events = _said(capsys, "log", "timeline", *map(str, NODES))["events"]
    assert isinstance(events, list)
    assert [event["text"] for event in events] == [event.text for event in report.events]


def test_images_of_every_state() -> None:
    log = kraft.open_log(NODES[0])
    last = kraft.image_at(NODES[0])
    ends = [state.end for state in log.states(log.first_state())]
    for end in ends[:: max(1, len(ends) // 10)]:
        assert kraft.image_at(log, end).offset_and_epoch.offset == end
    assert kraft.image_at(log, datetime.fromtimestamp(last.last_contained_timestamp_ms / 1000, UTC)) == last
    assert kraft.image_at(log, 0).topics == kraft.MetadataImage.empty().topics


def test_a_log_that_lost_its_end_warns(tmp_path: Path) -> None:
    short = shutil.copytree(NODES[0], tmp_path / "data")
    (segment,) = short.glob("__cluster_metadata-0/*0.log")
    end = int(kraft.image_at(short).offset_and_epoch.offset)
    (short / "__cluster_metadata-0" / f"{end + 100:020}.snapshot").write_bytes(b"")
    with pytest.warns(kraft.IncompleteWarning, match=str(end + 100)):
        kraft.image_at(short)
    report = kraft.timeline(short)
    assert (report.is_whole, len(report.lost_ends)) == (False, 1)
    assert kraft.image_at(short, end).offset_and_epoch.offset == end
    assert segment.exists()


def test_wrong_use() -> None:
    with pytest.raises(kraft.SourceError, match="no path was given"):
        kraft.check()
    with pytest.raises(kraft.SourceError, match="two logs"):
        kraft.diff(NODES[0])
    with pytest.raises(kraft.SourceError, match="holds several logs"):
        kraft.open_log(FIXTURES / "basic")
    with pytest.raises(kraft.SourceError):
        kraft.image_at("/does/not/exist")
    with pytest.raises(ValueError, match="no time zone"):
        kraft.image_at(NODES[0], datetime(2026, 1, 1))  # noqa: DTZ001  (that is the mistake)
    with pytest.raises(ValueError, match="no offset"):
        kraft.image_at(NODES[0], -1)
