"""A checkpoint whose name its directory denies is set aside: no state begins with it, and it proves nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from metadata_log.directory.committed_state import CommittedState, write_committed_state
from metadata_log.files.os_files import OsFiles
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.tools.findings.facts import EpochDenied, EpochDiffers, LogCut
from metadata_log.tools.read.contents import EpochSpan
from metadata_log.tools.read.sources import NodeSource
from metadata_log.tools.verify.checkpoint_epochs import epoch_instead
from metadata_log.tools.verify.log_facts import LogFacts
from metadata_log.tools.verify.verify_log import Depth, verify_log


def name_of(offset: int, epoch: int) -> str:
    return f"{offset:020}-{epoch:010}.checkpoint"


def metadata_of(source: Path, target: Path) -> Path:
    shutil.copytree(source / "data/__cluster_metadata-0", target)
    return target


def rename(directory: Path, old: tuple[int, int], new: tuple[int, int]) -> str:
    (directory / name_of(*old)).rename(directory / name_of(*new))
    return name_of(*new)


def facts_of(directory: Path) -> LogFacts:
    return verify_log(NodeSource(path=directory, node_id=11, metadata=directory), depth=Depth.BYTES)


@pytest.mark.parametrize(
    ("offset", "epoch", "instead"),
    [
        (5, 1, None),  # before the log, in its first epoch or one before
        (5, 2, 1),
        (15, 1, None),
        (15, 0, 1),
        (15, 3, 1),
        (25, 1, None),  # in the gap: of epoch 1, 2 or 3
        (25, 2, None),
        (25, 3, None),
        (31, 1, 3),
        (40, 3, None),
        (99, 3, None),
        (99, 1, 3),
        (15, 4, None),  # received, and the log not yet replaced
    ],
)
def test_epochs_rise_along_a_log(offset: int, epoch: int, instead: int | None) -> None:
    spans = [
        EpochSpan(epoch=1, start_offset=10, end_offset=20),
        EpochSpan(epoch=3, start_offset=30, end_offset=40),
    ]
    assert epoch_instead(spans, OffsetAndEpoch(offset=Offset(offset), epoch=Epoch(epoch))) == instead
    assert epoch_instead([], OffsetAndEpoch(offset=Offset(offset), epoch=Epoch(epoch))) is None


@pytest.mark.parametrize("offset", [260, 295, 309])
def test_the_log_has_another_epoch_there(offset: int, clusters: Path, tmp_path: Path) -> None:
    directory = metadata_of(clusters / "failovers/node-11", tmp_path / "log")
    name = rename(directory, (310, 9), (offset, 9))
    report = facts_of(directory)
    assert list(report.misnamed) == [name]
    assert [type(found.facts) for found in report.findings if (found.file or "").endswith(name)] == [EpochDiffers]
    assert [one.end.offset for one in report.checkpoints if one.end is not None] == [173, 255]


@pytest.mark.parametrize(("offset", "is_denied"), [(244, False), (250, False), (254, True), (400, True)])
def test_epochs_beside_a_log_that_is_gone(offset: int, is_denied: bool, clusters: Path, tmp_path: Path) -> None:
    directory = metadata_of(clusters / "failovers/node-2", tmp_path / "log")
    for path in directory.glob("*.log"):
        path.unlink()
    name = rename(directory, (244, 1), (offset, 1))
    report = facts_of(directory)
    assert list(report.misnamed) == ([name] if is_denied else [])
    assert [found.kind for found in report.findings if isinstance(found.facts, EpochDenied)] == (
        ["checkpoint_disagrees"] if is_denied else []
    )


def test_a_received_checkpoint_of_a_later_epoch_may_be_right(clusters: Path, tmp_path: Path) -> None:
    directory = metadata_of(clusters / "failovers/divergent-before/node-2", tmp_path / "log")
    received = clusters / f"failovers/node-11/data/__cluster_metadata-0/{name_of(310, 9)}"
    shutil.copyfile(received, directory / received.name)
    assert not facts_of(directory).misnamed


def test_it_proves_no_commit(clusters: Path, tmp_path: Path) -> None:
    directory = metadata_of(clusters / "failovers/node-11", tmp_path / "log")
    rename(directory, (310, 9), (900, 9))
    state = CommittedState(high_watermark=Offset(340))
    write_committed_state(OsFiles(), str(directory), state)
    cut = [found.facts for found in facts_of(directory).findings if isinstance(found.facts, LogCut)]
    assert [(one.ends_at, one.reached, one.proof) for one in cut] == [(326, 340, "committed-state")]


def test_a_batch_that_is_missing_denies_no_name(clusters: Path, tmp_path: Path) -> None:
    directory = metadata_of(clusters / "failovers/node-11", tmp_path / "log")
    (directory / f"{207:020}.log").unlink()
    report = facts_of(directory)
    assert "missing_segment" in {found.kind for found in report.findings}
    assert not report.misnamed
