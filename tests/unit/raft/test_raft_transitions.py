"""The table of transitions: complete against the page that is drawn from it, and enforced."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from metadata_log.errors import InvariantViolation
from metadata_log.offsets import Epoch
from quorum.raft.transitions import TRANSITIONS, EpochRule, Role, check_transition
from tests.support.raft_random_scenarios import run_scenario

DESIGN = Path(__file__).parents[3] / "quorum" / "DESIGN.md"


def _drawn() -> str:
    lines = ["| from | to | epoch | observers too | when |", "|---|---|---|---|---|"]
    for row in TRANSITIONS:
        lines.append(f"| {row.source} | {row.target} | {row.epoch} | {'yes' if row.observer else 'no'} | {row.why} |")
    return "\n".join(lines)


def test_the_design_page_shows_this_table() -> None:
    assert _drawn() in DESIGN.read_text(), f"put this into {DESIGN}:\n{_drawn()}"


def test_every_test_that_the_design_page_names_exists() -> None:
    sources = "".join(path.read_text() for path in DESIGN.parents[1].glob("tests/**/*.py"))
    named = _words_named("test_")
    assert named
    assert {name for name in named if f"def {name}(" not in sources} == set()
    transcripts = Path(__file__).parent
    assert {name for name in _words_named("transcripts/") if not (transcripts / name).exists()} == set()


def test_every_file_of_the_core_stands_in_the_design_pages_table() -> None:
    table = DESIGN.read_text().partition("## 1. The Raft core")[2].partition("### 1.1")[0]
    files = {path.name for path in (DESIGN.parent / "raft").glob("*.py")} - {"__init__.py"}
    assert set(re.findall(r"`(\w+\.py)`", table)) == files


def test_every_rule_of_what_waits_for_what_names_the_test_that_looks_in_between() -> None:
    tables = re.findall(
        r"^\| [^|\n]* \| waits for \| the test .*\n\|---.*\n((?:\|.*\n)+)", DESIGN.read_text(), re.MULTILINE
    )
    assert len(tables) == 3
    rows = [row for table in tables for row in table.splitlines()]
    assert [row for row in rows if not re.search(r"`(test_|transcripts/)\w+", row.rpartition(" | ")[2])] == []


def test_every_request_of_the_core_has_its_place_on_the_design_page() -> None:
    core = DESIGN.read_text().partition("### 1.3")[2].partition("## 2. ")[0]
    files = ("raft_messages", "voter_messages", "transfer_messages")
    sources = "".join((DESIGN.parent / "api" / f"{name}.py").read_text() for name in files)
    requests = re.findall(r"^class (\w+)Request\b", sources, re.MULTILINE)
    assert len(requests) > 10
    assert [name for name in requests if name not in core] == []


def test_every_module_that_speaks_kafkas_protocol_stands_on_the_design_page() -> None:
    door = DESIGN.read_text().partition("## 5. ")[2].partition("## 6. ")[0]
    named = {word.rpartition("/")[2] for word in re.findall(r"`([\w/]+)`", door)}
    folders = (DESIGN.parent / "server" / "kafka", DESIGN.parent / "transport" / "kafka")
    modules = {path.stem for folder in folders for path in folder.glob("*.py")} - {"__init__"}
    assert modules - named == set()


def _words_named(start: str) -> set[str]:
    words = (word.strip("`.,;()|") for word in DESIGN.read_text().split())
    return {word for word in words if word.startswith(start)}


def test_no_two_rows_say_the_same() -> None:
    pairs = [(row.source, row.target) for row in TRANSITIONS]
    assert len(pairs) == len(set(pairs))


@pytest.mark.parametrize(
    ("rule", "after", "is_allowed"),
    [
        (EpochRule.SAME, 5, True),
        (EpochRule.SAME, 6, False),
        (EpochRule.NEXT, 6, True),
        (EpochRule.NEXT, 7, False),
        (EpochRule.NEXT, 5, False),
        (EpochRule.HIGHER, 9, True),
        (EpochRule.HIGHER, 5, False),
        (EpochRule.SAME_OR_HIGHER, 5, True),
        (EpochRule.SAME_OR_HIGHER, 6, True),
        (EpochRule.SAME_OR_HIGHER, 4, False),
    ],
)
def test_epoch_rules(rule: EpochRule, after: int, is_allowed: bool) -> None:
    assert rule.allows(Epoch(5), Epoch(after)) is is_allowed


@pytest.mark.parametrize(
    ("source", "target", "after", "is_voter", "what"),
    [
        (Role.LEADER, Role.CANDIDATE, 6, True, "leader cannot become candidate"),
        (Role.FOLLOWER, Role.LEADER, 5, True, "follower cannot become leader"),
        (Role.RESIGNED, Role.LEADER, 5, True, "resigned cannot become leader"),
        (Role.PROSPECTIVE, Role.CANDIDATE, 5, True, "in epoch 5 cannot become candidate in epoch 5"),
        (Role.FOLLOWER, Role.UNATTACHED, 5, True, "in epoch 5 cannot become unattached in epoch 5"),
        (Role.UNATTACHED, Role.PROSPECTIVE, 5, False, "not a voter"),
        (Role.UNATTACHED, Role.FOLLOWER, 4, True, "in epoch 5 cannot become follower in epoch 4"),
    ],
)
def test_what_is_not_in_the_table_stops_the_node(
    source: Role, target: Role, after: int, is_voter: bool, what: str
) -> None:
    with pytest.raises(InvariantViolation, match=what):
        check_transition(source, Epoch(5), target, Epoch(after), can_campaign=is_voter)


def test_scenarios_reach_every_role() -> None:
    """Else the scenarios would prove little."""
    seen: set[str] = set()
    for seed in range(30):
        cluster = run_scenario(seed, watch=seen.add)
        assert cluster.events_taken
    assert seen == {str(role) for role in Role}
