"""Each tool that reads an impossible voter set names the file and the record."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from metadata_log.errors import CorruptFileError
from metadata_log.files.os_files import OsFiles
from metadata_log.storage.checkpoint import parse_checkpoint_name
from metadata_log.tools.prefix.checkpoints import damage_of, load_checkpoint
from quorum.cli.main import run
from quorum.recovery.inspection import inspect_copies
from tests.support.damage import copy_cluster
from tests.support.damage_log import voter_twice
from tests.support.damage_voters import Change, change_controls, of_voters

_TWICE = of_voters(lambda voters: (*voters, voters[0]))
_NONE = of_voters(lambda voters: ())


@pytest.mark.parametrize(("change", "why"), [(_TWICE, "names node 1 twice"), (_NONE, "leaves no voter")])
def test_a_checkpoint_with_such_a_set_is_damaged(change: Change, why: str, clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "failovers", tmp_path / "failovers")
    path = sorted(cluster.metadata(11).glob("*.checkpoint"))[-1]
    change_controls(path, change)
    end = parse_checkpoint_name(path.name)
    assert end is not None
    with pytest.raises(CorruptFileError) as raised:
        load_checkpoint(OsFiles(), str(path), end)
    assert str(raised.value) == f"{path}: its VotersRecord {why}"
    assert damage_of(OsFiles(), str(path), end) == str(raised.value)
    (copy,) = inspect_copies(OsFiles(), [str(cluster.disk(11))]).evidence.copies
    assert copy.origin is None or copy.origin.name != path.name


def _shell(node: Path, target: Path) -> list[str]:
    return ["shell", str(node), "-c", "cat /quorum/voters/1"]


def _save(node: Path, target: Path) -> list[str]:
    return ["snapshot", "save", str(node), str(target / "saved.tar")]


def _timeline(node: Path, target: Path) -> list[str]:
    return ["log", "timeline", str(node)]


@pytest.mark.parametrize(
    ("words", "where"),
    [
        (_shell, "VotersRecord of the batch at offset 0"),
        (_save, "VotersRecord of the batch at offset 0"),
        (_timeline, "__cluster_metadata-0: VotersRecord at offset 2"),
    ],
)
def test_each_tool_names_the_record(
    words: Callable[[Path, Path], list[str]],
    where: str,
    clusters: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    voter_twice(cluster)
    assert run(words(cluster.node(2), tmp_path)) == 1
    said = "".join(capsys.readouterr())
    assert f"{where}: voter 1 is named 2 times" in said
