"""A repair of several directories that some of them have and others have not: nothing starts from these."""

from __future__ import annotations

import pytest

from metadata_log.tools.findings import finding
from quorum.cli.output import OutputFormat
from quorum.cli.recover_show import show_verification
from quorum.recovery.carry_out import carry_out
from quorum.recovery.inspect import inspect_copies
from quorum.recovery.journal import work_root_of
from quorum.recovery.undo import propose_undo
from quorum.recovery.verify import verify_directories
from tests.support.repair_cases import THREE, move_voters, three_voters
from tests.support.repairs import AUTHOR, repair


def test_a_repair_that_reached_one_of_three_is_no_quorum() -> None:
    files = three_voters()
    first = move_voters(files).rewrites[0]
    carry_out(files, first, author=AUTHOR, work_root=work_root_of(first.log_dir))
    found = verify_directories(files, THREE)
    assert not found.is_sound
    assert found.steps == ()
    assert any("epoch 1001 on node 1 (/n1) has not reached node" in problem for problem in found.problems)
    assert all(any(path in problem for problem in found.problems) for path in ("/n2", "/n3"))
    plan = inspect_copies(files, THREE).plan
    assert not plan.is_whole
    assert plan.situation.startswith("A repair is half done")
    repair(files, move_voters, *THREE)
    assert verify_directories(files, THREE).is_sound


def test_a_repair_that_was_undone_in_one_of_three_is_no_quorum() -> None:
    files = three_voters()
    repair(files, move_voters, *THREE)
    repair(files, lambda files: propose_undo(files, "/n2", work_root_of("/n2")), "/n2")
    found = verify_directories(files, THREE)
    assert not found.is_sound
    assert any("has not reached node 2 (/n2), or was undone there" in problem for problem in found.problems)
    assert not inspect_copies(files, THREE).plan.is_whole


def test_no_steps_stand_below_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    found = verify_directories(three_voters(), THREE)
    assert found.steps
    wrong = finding("log_cut", "the log ends too early", file="/n1")
    show_verification(OutputFormat.TABLE, found, [wrong])
    said = capsys.readouterr().out
    assert "WRONG: /n1: the log ends too early" in said
    assert "Next:" not in said
