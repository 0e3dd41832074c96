"""Every applied repair leaves the same bytes as its golden says, and so does its undo."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec
import pytest

from metadata_log.files.port import Files
from quorum.recovery.guards.request import Proposal
from quorum.recovery.journal.changes import FileChange, Rewrite
from tests.golden.applied import AppliedCase
from tests.golden.applied_cases import ARCHIVE, applied_cases
from tests.golden.archive import difference, read_archive, remedy
from tests.golden.cases import Case

_CASES: Final = {case.name: case for case in applied_cases()}
_SHARED: Final = {name: case for name, case in _CASES.items() if Case(ARCHIVE, name, ()).is_shared}
_SHOWN: Final = 3


def _repairs(cases: Iterable[str]) -> list[str]:
    return sorted({name.partition("/")[0] for name in cases})


def _compare(cases: dict[str, AppliedCase], repair: str) -> None:
    goldens = read_archive(ARCHIVE)
    chosen = [case for name, case in cases.items() if name.startswith(f"{repair}/")]
    found = [difference(ARCHIVE, case.name, goldens.get(case.name), case.text()) for case in chosen]
    differing = [one for one in found if one is not None]
    if differing:
        said = f"{len(differing)} of {len(chosen)} directories are not as they were:"
        pytest.fail("\n\n".join([said, *differing[:_SHOWN], remedy([ARCHIVE])]), pytrace=False)


@pytest.mark.parametrize("repair", _repairs(_SHARED))
def test_a_share_of_the_repairs_leaves_the_same_bytes(repair: str) -> None:
    _compare(_SHARED, repair)


@pytest.mark.campaign
@pytest.mark.parametrize("repair", _repairs(_CASES))
def test_every_repair_leaves_the_same_bytes(repair: str) -> None:
    _compare(_CASES, repair)


def test_every_case_has_a_golden_and_every_golden_a_case() -> None:
    assert set(read_archive(ARCHIVE)) == set(_CASES)


def test_every_repair_of_every_scenario_is_undone() -> None:
    """An interrupted repair of several directories leaves lock files; a moved directory stays where it is."""
    differing = {
        name for name, text in read_archive(ARCHIVE).items() if "\ncompared with the original: equal" not in text
    }

    assert differing == {f"interrupted/{name}" for name in ("cluster-id", "moved", "static-voters", "voters")}
    left = [line for name in differing - {"interrupted/moved"} for line in _differences_of(name)]
    assert sorted(set(left)) == ["  added: /n2/.lock", "  added: /n3/.lock"]


def _differences_of(name: str) -> list[str]:
    return read_archive(ARCHIVE)[name].partition("compared with the original: it differs\n")[2].splitlines()


def test_one_other_byte_is_seen() -> None:
    case = _CASES["standalone/basic/node-1.alone"]
    step = case.steps[0]

    def propose(files: Files) -> Proposal:
        proposal = step.propose(files)
        return msgspec.structs.replace(proposal, rewrites=tuple(map(_with_another_byte, proposal.rewrites)))

    other = msgspec.structs.replace(case, steps=(msgspec.structs.replace(step, propose=propose),))
    shown = difference(ARCHIVE, case.name, read_archive(ARCHIVE)[case.name], other.text())

    assert shown is not None
    changed = [line for line in shown.splitlines() if line.startswith("+ ")]
    assert any(line.endswith("/n1/__cluster_metadata-0/quorum-state") for line in changed)
    assert not any(line.endswith("/n1/__cluster_metadata-0/leader-epoch-checkpoint") for line in changed)


def _with_another_byte(rewrite: Rewrite) -> Rewrite:
    """Return the rewrite with another last byte of its quorum-state."""
    return msgspec.structs.replace(rewrite, changes=tuple(map(_changed, rewrite.changes)))


def _changed(change: FileChange) -> FileChange:
    if not change.name.endswith("/quorum-state") or change.content is None:
        return change
    data = change.content.data
    content = msgspec.structs.replace(change.content, data=data[:-1] + bytes((data[-1] ^ 1,)))
    return msgspec.structs.replace(change, content=content)
