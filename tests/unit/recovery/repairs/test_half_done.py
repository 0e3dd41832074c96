"""A repair of several directories that some of them have and others have not: nothing starts from these."""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.files.os_files import OsFiles
from metadata_log.files.port import Files
from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.tools.findings.finding import finding
from quorum.cli.main import run
from quorum.cli.output import OutputFormat
from quorum.cli.recover.show import show_verification
from quorum.recovery.copies.copy_reader import read_copy
from quorum.recovery.guards.request import Proposal
from quorum.recovery.inspection import inspect_copies
from quorum.recovery.journal.carry_out import carry_out
from quorum.recovery.journal.log_directories import find_place
from quorum.recovery.journal.orphaned_files import remove_tree
from quorum.recovery.journal.repair_record import work_root_of
from quorum.recovery.repairs.follow_up import recorded
from quorum.recovery.repairs.static_voters import parse_static_voter, propose_static_voters
from quorum.recovery.repairs.undo import propose_undo
from quorum.recovery.verification import verify_directories
from tests.support.misuses import NO_WAIT, Bench
from tests.support.repair_cases import THREE, move_voters, three_voters
from tests.support.repairs import AUTHOR, forget_audits, load_nodes, repair, request, written_out


def test_an_audit_file_says_whose_directory_it_is_of_and_which_copy_was_kept() -> None:
    facts = [rewrite.facts for rewrite in move_voters(three_voters()).rewrites]
    assert [one.node_id for one in facts] == [1, 2, 3]
    assert len({one.directory_id for one in facts}) == 3
    (kept,) = {one.kept_copy.path for one in facts if one.kept_copy is not None}
    assert kept.startswith("/n")


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


def same_static_voters(files: Files) -> Proposal:
    """All get the best log, and vote as before."""
    named = [parse_static_voter(f"{node}@host{node}:9093") for node in (1, 2, 3)]
    return propose_static_voters(files, THREE, [], named, request())


def static_quorum() -> SimulatedFiles:
    """Three static voters; the log of one goes on in an epoch that the others have not."""
    return load_nodes("static-3.9", 1, 2, 3)


def test_static_voters_that_stay_the_same_do_not_hide_that_a_repair_is_half_done() -> None:
    files = static_quorum()
    assert verify_directories(files, THREE).problems == ()
    first = same_static_voters(files).rewrites[0]
    carry_out(files, first, author=AUTHOR, work_root=work_root_of(first.log_dir))
    assert len({read_copy(files, find_place(files, path)).static_voters for path in THREE}) == 1
    found = verify_directories(files, THREE)
    assert not found.is_sound
    [problem] = found.problems
    assert "on node 1 (/n1) has not reached node 3 (/n3), node 2 (/n2)" in problem
    assert not inspect_copies(files, THREE).plan.is_whole
    repair(files, same_static_voters, *THREE)
    assert verify_directories(files, THREE).is_sound
    repair(files, lambda files: propose_undo(files, "/n2", work_root_of("/n2")), "/n2")
    assert any("has not reached node 2 (/n2)" in one for one in verify_directories(files, THREE).problems)


def test_the_log_itself_tells_of_a_half_done_repair_of_static_voters() -> None:
    """Nothing but the directories came here: what lies beside them, audit file and backup, stayed on another host."""
    files = static_quorum()
    first = same_static_voters(files).rewrites[0]
    record = carry_out(files, first, author=AUTHOR, work_root=work_root_of(first.log_dir))
    remove_tree(files, record.work_dir)
    assert read_copy(files, find_place(files, "/n1")).repair == OffsetAndEpoch(offset=Offset(115), epoch=Epoch(1004))
    [problem] = verify_directories(files, THREE).problems
    assert "on node 1 (/n1) has not reached node 3 (/n3), node 2 (/n2)" in problem
    assert inspect_copies(files, THREE).plan.situation.startswith("A repair is half done")


def test_undo_names_the_other_directories_until_it_is_done_there() -> None:
    files = three_voters()
    for rewrite in recorded(move_voters(files)):
        carry_out(files, rewrite, author=AUTHOR, work_root=work_root_of(rewrite.log_dir))
    for node, left in ((2, ["/n1", "/n3"]), (3, ["/n1"]), (1, [])):
        path = f"/n{node}"
        warnings = "\n".join(propose_undo(files, path, work_root_of(path)).warnings)
        assert [one for one in THREE if f"undo --dir {one} " in warnings] == left
        repair(files, lambda files, path=path: propose_undo(files, path, work_root_of(path)), path)


def test_voters_that_a_repair_left_out_are_said_to_elect_by_what_they_know() -> None:
    files = static_quorum()
    alone = [parse_static_voter("1@host1:9093")]
    repair(files, lambda files: propose_static_voters(files, ["/n1"], [], alone, request()), "/n1")
    assert verify_directories(files, ["/n1"]).is_sound
    problems = verify_directories(files, ["/n1", "/n2"]).problems
    (problem,) = (problem for problem in problems if "on node 1 (/n1) has not reached node 2 (/n2)" in problem)
    assert "format them, and let them join node 1 (/n1); or undo the repair" in problem
    first, start, *_ = inspect_copies(files, THREE).plan.steps
    assert first.text.startswith("Never start node 3 (/n3), node 2 (/n2) from these directories")
    assert first.text.endswith(
        "elect by those. If they are the ones that go on, undo that repair, and inspect all again"
    )
    assert first.commands == ("kraft recover undo --dir /n1 --apply",)
    forget_audits(files, "/n1.recovery")
    assert inspect_copies(files, THREE).plan.steps[0].text.endswith("and would elect by those")
    assert start.text.startswith("Start controller 1 as it is")


def test_an_elected_leaders_epoch_is_no_repair() -> None:
    """Also at kraft.version 0, where neither names voters' directories."""
    files = static_quorum()
    assert [read_copy(files, find_place(files, path)).repair for path in THREE] == [None] * 3


def test_a_half_done_repair_of_static_voters_is_seen_through_a_symbolic_link(tmp_path: Path) -> None:
    written_out(static_quorum(), tmp_path)
    files, paths = OsFiles(), [f"{tmp_path}{path}" for path in THREE]
    link = tmp_path / "link"
    link.symlink_to(paths[0])
    named = [parse_static_voter(f"{node}@host{node}:9093") for node in (1, 2, 3)]
    first = propose_static_voters(files, paths, [], named, request()).rewrites[0]
    carry_out(files, first, author=AUTHOR, work_root=work_root_of(first.log_dir))
    found = verify_directories(files, [str(link), *paths[1:]])
    assert any(f"on node 1 ({link}) has not reached" in problem for problem in found.problems)


def test_no_steps_stand_below_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    found = verify_directories(three_voters(), THREE)
    assert found.steps
    wrong = finding("log_cut", "the log ends too early", file="/n1")
    show_verification(OutputFormat.TABLE, found, [wrong])
    said = capsys.readouterr().out
    assert "WRONG: /n1: the log ends too early" in said
    assert "Next:" not in said


@pytest.mark.parametrize("undone", [1, 2, 3])
def test_a_repair_that_was_undone_in_one_gets_one_advice(
    undone: int, clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The epoch that the repair began in the name of one of them is no election that its node has forgotten."""
    nodes = [Bench(clusters, tmp_path).node("basic", node) for node in (1, 2, 3)]
    words = [
        word for node, path in enumerate(nodes, 1) for word in ("--dir", str(path), "--set", f"{node}@localhost:{node}")
    ]
    assert run(["recover", "voters", *words, "--missing", "rest", "--apply", *NO_WAIT]) == 0
    assert run(["recover", "undo", "--dir", str(nodes[undone - 1]), "--apply"]) == 0
    capsys.readouterr()
    assert run(["recover", "verify", *map(str, nodes)]) == 1
    wrong = [line for line in capsys.readouterr().out.splitlines() if line.startswith("WRONG: ")]
    assert len(wrong) == 1
    assert "run the repair again on all of them with --apply, or undo it in each directory that has it" in wrong[0]
    assert "Set the directory aside" not in wrong[0]
