"""A repair that is interrupted at any call: the directory is the old one or the new one, and the next run finishes."""

from __future__ import annotations

import pytest

from metadata_log.files import Files
from metadata_log.ids import DirectoryId
from metadata_log.simulated_files import SimulatedFiles
from metadata_log.voters import Endpoint
from quorum.recovery.from_broker import NewController, propose_from_broker
from quorum.recovery.journal import work_root_of
from quorum.recovery.request import Proposal
from quorum.recovery.standalone import propose_standalone
from quorum.recovery.undo import propose_undo
from tests.support.repairs import (
    check_every_crash,
    check_every_failure,
    check_every_full_disk,
    load,
    repair,
    request,
    tree,
)

pytestmark = pytest.mark.timeout(300)  # 2 s of processor time; a loaded machine gives it late

SURVIVOR = "every-record/node-1/data"


def survivor() -> SimulatedFiles:
    return load(SURVIVOR)


def torn_survivor() -> SimulatedFiles:
    """Its last write was cut off, and its newest checkpoint is damaged: more files change."""
    files = survivor()
    last = max(name for name in files.listdir("/data/__cluster_metadata-0") if name.endswith(".log"))
    handle = files.open(f"/data/__cluster_metadata-0/{last}")
    handle.truncate(handle.size() - 3)
    handle.fdatasync()
    newest = max(name for name in files.listdir("/data/__cluster_metadata-0") if name.endswith(".checkpoint"))
    files.rot(f"/data/__cluster_metadata-0/{newest}", 200, 0x10)
    return files


def standalone(files: Files) -> Proposal:
    return propose_standalone(files, "/data", [], request())


def brokers_copies() -> SimulatedFiles:
    return load("failovers/node-12/data", load("failovers/node-11/data", target="/b11"), target="/b12")


def from_broker(files: Files) -> Proposal:
    new = NewController(
        log_dir="/data",
        node_id=1,
        endpoints=(Endpoint(name="CONTROLLER", host="here", port=9093),),
        directory_id=DirectoryId(bytes(range(100, 116))),
    )
    return propose_from_broker(files, ["/b11", "/b12"], [], new, request())


def repaired() -> SimulatedFiles:
    files = torn_survivor()
    repair(files, standalone, "/data")
    return files


def undo(files: Files) -> Proposal:
    return propose_undo(files, "/data", work_root_of("/data"))


def test_a_crash_at_any_call_leaves_the_old_or_the_new_directory() -> None:
    assert check_every_crash(torn_survivor, standalone) > 40


def test_any_failing_call_is_told_and_the_next_run_finishes() -> None:
    check_every_failure(torn_survivor, standalone)


def test_a_disk_that_is_full_at_any_byte_loses_nothing() -> None:
    assert check_every_full_disk(torn_survivor, standalone) > 40


def test_a_crash_while_a_controller_is_made_from_a_brokers_copy() -> None:
    assert check_every_crash(brokers_copies, from_broker) > 60


def test_a_full_disk_while_a_controller_is_made_from_a_brokers_copy() -> None:
    assert check_every_full_disk(brokers_copies, from_broker, step=2999) > 10


def test_a_crash_in_an_undo() -> None:
    assert check_every_crash(repaired, undo) > 40


def test_undo_gives_every_byte_back() -> None:
    files = torn_survivor()
    old = tree(files, "/data")
    repair(files, standalone, "/data")
    assert tree(files, "/data") != old
    repair(files, undo, "/data")
    assert tree(files, "/data") == old
