"""A voter whose partition.metadata is rubbish: its node has its vote and its log, and starts once that file is away."""

from __future__ import annotations

import errno
import shlex
from collections.abc import Callable

import pytest

from metadata_log.directory import format_partition_metadata
from metadata_log.files.port import FileHandle, Files
from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.ids import TopicId
from quorum.recovery.inspection import Inspection, inspect_copies
from quorum.recovery.journal.errors import RefusedError
from quorum.recovery.repairs.standalone import propose_standalone
from quorum.recovery.verification import verify_directories
from tests.support.repairs import load_nodes, outcome, request

NAME = "__cluster_metadata-0/partition.metadata"
MOVE = "mv /n1/__cluster_metadata-0/partition.metadata /n1.damaged-partition.metadata"


def basic(*nodes: int) -> SimulatedFiles:
    return load_nodes("basic", *nodes)


def written(files: SimulatedFiles, data: bytes) -> SimulatedFiles:
    """These bytes in the file of node 1."""
    handle = files.open(f"/n1/{NAME}")
    handle.truncate(0)
    handle.pwrite(data, 0)
    handle.fdatasync()
    return files


class Unreadable(SimulatedFiles):
    """The same files, of which one lies on bad sectors."""

    def __init__(self, files: SimulatedFiles) -> None:
        self.__dict__ = files.__dict__

    def open(self, path: str, *, create: bool = False, exclusive: bool = False, read_only: bool = False) -> FileHandle:
        if path == f"/n1/{NAME}":
            raise OSError(errno.EIO, "Input/output error", path)
        return super().open(path, create=create, exclusive=exclusive, read_only=read_only)


FAULTS: list[Callable[[SimulatedFiles], Files]] = [
    lambda files: written(files, b""),
    lambda files: written(files, b"\0" * 40),
    Unreadable,
]


def lines(found: Inspection) -> str:
    return "\n".join(word for step in found.plan.steps for word in (step.text, *step.commands))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_majority_with_it_is_here_once_the_file_is_away(fault: Callable[[SimulatedFiles], Files]) -> None:
    files = fault(basic(1, 2))
    found = inspect_copies(files, ["/n1", "/n2"])
    assert found.plan.situation.startswith("A majority of the voters is here and sound (2 of 3: controllers 2, 1)")
    said = lines(found)
    assert "recover standalone" not in said
    assert "as they are" not in said
    assert said.index(MOVE) < said.index("Then start controllers 2, 1: they elect a leader")
    assert not found.is_whole  # something is to be done first
    assert not found.evidence.stale
    assert found.evidence.bounds.upper == 96
    assert not verify_directories(files, ["/n1", "/n2"]).is_sound


def test_done_as_said_nothing_is_left_to_do() -> None:
    files = written(basic(1, 2), b"")
    _, source, target = shlex.split(MOVE)
    files.rename(source, target)
    found = inspect_copies(files, ["/n1", "/n2"])
    assert found.is_whole
    assert "Start controllers 2, 1 as they are" in lines(found)
    assert verify_directories(files, ["/n1", "/n2"]).is_sound


def test_beside_a_majority_it_is_not_formatted_anew() -> None:
    found = inspect_copies(written(basic(1, 2, 3), b""), ["/n1", "/n2", "/n3"])
    assert found.is_whole
    said = lines(found)
    assert MOVE in said
    assert "format" not in said
    assert "Then start controllers 2, 3, 1" in said


def test_with_the_majority_lost_it_is_moved_away_before_the_repair_that_needs_it() -> None:
    files = written(basic(1), b"")
    said = lines(inspect_copies(files, ["/n1"]))
    assert said.index(MOVE) < said.index("kraft recover standalone --dir /n1")
    with pytest.raises(RefusedError, match="move that file away"):
        propose_standalone(files, "/n1", [], request())
    _, source, target = shlex.split(MOVE)
    files.rename(source, target)
    assert propose_standalone(files, "/n1", [], request()).rewrites


def test_a_repair_without_its_vote_is_refused_and_says_what_to_do() -> None:
    files = written(basic(1, 2), b"")
    said = outcome(files, lambda files: propose_standalone(files, "/n2", ["/n1"], request()), "/n2")
    assert said is not None
    assert "voters 2, 1 are here and sound" in said
    assert f"move /n1/{NAME} (line 1 is not a name" in said


def test_another_topics_file_may_be_another_directorys() -> None:
    files = written(basic(1, 2), format_partition_metadata(TopicId(b"an id of our own")))
    found = inspect_copies(files, ["/n1", "/n2"])
    assert not found.is_whole
    assert MOVE not in lines(found)
