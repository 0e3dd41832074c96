"""All scenes, by the part of the suite that compares them.

Decides: how the cases of a scenario become scenes, one a command, and which scenes a test file has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final

from tests.golden.cases import Case, Scene, in_clusters
from tests.golden.damaged import damage_scenes
from tests.golden.helping import help_cases
from tests.golden.looking import looking_cases
from tests.golden.newer import newer_scenes
from tests.golden.recovering import recovering_cases
from tests.golden.repairing import repairing_scenes
from tests.support.clusters import SCENARIOS

_DAMAGE: Final[Mapping[str, Sequence[str]]] = {
    "damage-logs": ("log", "records", "control", "topics", "times"),
    "damage-values": ("values", "access", "checkpoint"),
    "damage-files": ("files", "small_files", "beside"),
    "damage-quorum": ("quorum", "voters", "partitions", "reach"),
}
PARTS: Final = ("help", "looking", "recovering", "repairing", "newer", *_DAMAGE)


@cache
def scenes_of(part: str) -> Sequence[Scene]:
    """Return the scenes of a part."""
    match part:
        case "help":
            return [Scene("help", list(help_cases()), in_clusters)]
        case "looking":
            return list(_by_command(looking_cases))
        case "recovering":
            return list(_by_command(recovering_cases))
        case "repairing":
            return list(repairing_scenes())
        case "newer":
            return list(newer_scenes())
        case _:
            return [scene for group in _DAMAGE[part] for scene in damage_scenes(group)]


def all_scenes() -> Iterator[Scene]:
    """Yield the scenes of all parts."""
    for part in PARTS:
        yield from scenes_of(part)


def all_cases() -> Iterator[Case]:
    """Yield the cases of all parts."""
    for scene in all_scenes():
        yield from scene.cases


def damage_groups() -> list[str]:
    """Return the modules of damage that some part has."""
    return [group for groups in _DAMAGE.values() for group in groups]


def _by_command(cases_of: Callable[[str], Iterable[Case]]) -> Iterator[Scene]:
    for scenario in SCENARIOS:
        by_command: dict[str, list[Case]] = {}
        for case in cases_of(scenario):
            by_command.setdefault(case.command, []).append(case)
        for command, cases in by_command.items():
            yield Scene(f"{scenario}-{command}", cases, in_clusters)
