"""A damaged checkpoint that is not the newest: its node starts all the same, and it is named, and taken away."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from metadata_log.files.simulated_files import SimulatedFiles
from quorum.cli.main import run
from quorum.recovery.advice.faults import fault_of
from quorum.recovery.inspection import inspect_copies
from quorum.recovery.journal.errors import AlreadyDoneError
from quorum.recovery.repairs.drop_snapshot import propose_drop_snapshot
from quorum.recovery.repairs.standalone import propose_standalone
from quorum.recovery.verification import verify_directories
from tests.support.repairs import load_nodes, repair, request, written_out

METADATA = "__cluster_metadata-0"
OLDER = "00000000000000000200-0000000001.checkpoint"
NEWEST = "00000000000000000323-0000000001.checkpoint"
LINE = "kraft recover drop-snapshot --dir {} --missing rest --apply"


def damaged(*nodes: int) -> SimulatedFiles:
    """The directories of these voters; node 2's has a damaged older checkpoint."""
    files = load_nodes("upgrade-path", *nodes)
    files.rot(f"/n2/{METADATA}/{OLDER}", 100, 0x21)
    return files


def test_inspect_names_it_and_the_command_and_shows_no_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = damaged(2)
    written_out(files, tmp_path)
    run(["recover", "inspect", f"{tmp_path}/n2"])
    out = capsys.readouterr().out
    said = next(line for line in out.splitlines() if line.startswith("DAMAGED: "))
    assert OLDER in said
    assert f"`{LINE.format(f'{tmp_path}/n2')}`" in said
    assert "damaged" not in out.splitlines()[1]
    run(["recover", "inspect", f"{tmp_path}/n2", "--output", "json"])
    (copy,) = json.loads(capsys.readouterr().out)["copies"]
    assert copy["fault"] is None
    assert [one["name"] for one in copy["checkpoints"] if one["problem"]] == [OLDER]


def test_a_majority_is_started_as_it_is() -> None:
    files = damaged(1, 2, 3)
    found = inspect_copies(files, ["/n1", "/n2", "/n3"])
    assert found.is_whole
    assert not found.evidence.stale
    assert all(fault_of(copy) is None for copy in found.evidence.copies)


def test_it_is_found_without_being_named_and_goes_alone() -> None:
    files = damaged(2)
    before = set(files.listdir(f"/n2/{METADATA}"))
    repair(files, lambda files: propose_drop_snapshot(files, "/n2", [], request()), "/n2")
    assert before - set(files.listdir(f"/n2/{METADATA}")) == {OLDER}
    with pytest.raises(AlreadyDoneError, match="no damaged checkpoint"):
        propose_drop_snapshot(files, "/n2", [], request())


def test_with_the_newest_damaged_too_both_go() -> None:
    files = damaged(2)
    files.rot(f"/n2/{METADATA}/{NEWEST}", 100, 0x21)
    before = set(files.listdir(f"/n2/{METADATA}"))
    repair(files, lambda files: propose_drop_snapshot(files, "/n2", [], request()), "/n2")
    assert before - set(files.listdir(f"/n2/{METADATA}")) == {OLDER, NEWEST}


def test_a_repair_takes_it_away_and_nothing_is_wrong_afterwards() -> None:
    files = damaged(2)
    repair(files, lambda files: propose_standalone(files, "/n2", [], request()), "/n2")
    assert not files.exists(f"/n2/{METADATA}/{OLDER}")
    assert verify_directories(files, ["/n2"]).is_sound
