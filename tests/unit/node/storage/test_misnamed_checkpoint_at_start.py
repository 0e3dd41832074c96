"""A controller does not start from a checkpoint whose name its own log denies, and keeps the log."""

from __future__ import annotations

import pytest

from metadata_log.errors import CorruptFileError
from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.storage.file_log import LogConfig
from quorum.node.storage.startup import StartingLog, open_starting_log
from tests.support.repairs import load, tree

DIRECTORY = "/data/__cluster_metadata-0"


def name_of(offset: int, epoch: int) -> str:
    return f"{DIRECTORY}/{offset:020}-{epoch:010}.checkpoint"


def renamed(source: str, old: tuple[int, int], new: tuple[int, int]) -> SimulatedFiles:
    files = load(source)
    files.rename(name_of(*old), name_of(*new))
    files.fsync_dir(DIRECTORY)
    return files


def start(files: SimulatedFiles) -> StartingLog:
    return open_starting_log(files, DIRECTORY, LogConfig())


@pytest.mark.parametrize(
    ("node", "old", "new", "proof"),
    [
        (11, (310, 9), (300, 9), "epoch 9 of the log began at offset 309"),
        (11, (310, 9), (312, 9), "no batch of the log ends at offset 312"),
        (11, (310, 9), (320, 9), "the record that it ends with, of 1795216415781 ms, is before offset 310 of the log"),
        (11, (310, 9), (900, 9), "the record that it ends with, of 1795216415781 ms, is before offset 310 of the log"),
        (2, (244, 1), (300, 1), "the log begins at offset 244, without any other checkpoint that ends there"),
        (2, (244, 1), (900, 1), "the log begins at offset 244, without any other checkpoint that ends there"),
    ],
)
def test_a_name_that_the_log_denies_stops_the_start(
    node: int, old: tuple[int, int], new: tuple[int, int], proof: str
) -> None:
    files = renamed(f"failovers/node-{node}/data", old, new)
    before = tree(files, "/data")
    with pytest.raises(CorruptFileError, match=f"{name_of(*new)}: .*{proof}.*'kraft check' on this directory"):
        start(files)
    assert tree(files, "/data") == before


@pytest.mark.parametrize(
    "source", ["failovers/node-11/data", "failovers-4.4/node-11/data", "upgrade-path/node-11/data"]
)
def test_checkpoints_of_kafka_are_well_named(source: str) -> None:
    assert start(load(source)).recovery.notes == ()


def test_a_received_checkpoint_still_replaces_the_log() -> None:
    files = load("failovers/divergent-before/node-2/data")
    load("failovers/node-11/data", files, "/other")
    files.rename(name_of(310, 9).replace("/data", "/other"), name_of(310, 9))
    starting = start(files)
    assert (starting.log.start_offset, starting.log.log_end_offset) == (310, 310)
