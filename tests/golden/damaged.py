"""Cases of planted damage: each way to damage a cluster, the commands that look at it, and the repairs that fit it."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.golden.cases import DAMAGE_NAMES, Case, Scene, in_forms
from tests.golden.layout import brokers_of, controllers_of, last_nodes
from tests.golden.recovering import NEW_CLUSTER, NEW_ENDPOINT, REST, dirs, members, repair
from tests.support.all_damage import DAMAGE
from tests.support.damage import Damage, copy_cluster

_PLACE: Final = ("--dir", "{data}")
_NO_OFFSET: Final = 50
_IN_THE_LOG: Final = ("standalone", "truncate")
_REPAIRS: Final[Mapping[str, Sequence[str]]] = {
    "log": (*_IN_THE_LOG, "accepted", "before", "rebuild-indexes"),
    "records": (*_IN_THE_LOG, "accepted"),
    "files": ("standalone", "drop-snapshot", "rebuild-indexes", "cluster-id", "from-broker"),
    "checkpoint": ("standalone", "drop-snapshot", "before"),
    "control": (*_IN_THE_LOG, "accepted"),
    "reach": (*_IN_THE_LOG, "accepted", "before", "rebuild-indexes", "from-broker"),
    "beside": ("standalone", "rebuild-indexes", "cluster-id"),
    "small_files": ("standalone", "rebuild-indexes", "cluster-id", "from-broker", "voters"),
    "times": ("standalone", "drop-snapshot", "from-broker"),
    "topics": _IN_THE_LOG,
    "values": (*_IN_THE_LOG, "accepted"),
    "partitions": ("audit", "from-broker"),
    "voters": ("standalone", "voters", "static-voters", "drop-snapshot"),
    "quorum": ("standalone", "voters", "static-voters", "truncate"),
    "access": _IN_THE_LOG,
}
"""The repairs that fit, by the module that plants the damage."""


def damage_scenes(group: str) -> Iterator[Scene]:
    """Yield a scene for each damage of a module."""
    for damage in DAMAGE[group]:
        cases = tuple(_cases(group, damage))
        yield Scene(f"damage-{damage.name}", cases, functools.partial(_plant, damage))


def _plant(damage: Damage, clusters: Path, place: Path) -> tuple[Path, Mapping[str, str]]:
    """Copy the scenario, damage it, and return the node that is hit, and where."""
    cluster = copy_cluster(clusters / damage.scenario, place / damage.scenario)
    planted = damage.plant(cluster)
    hit = planted.file.relative_to(cluster.root).parts[0]
    node = f"{damage.scenario}/{hit}" if hit.startswith("node-") else controllers_of(damage.scenario)[0].path
    offset = _NO_OFFSET if planted.offset is None else planted.offset
    return place, {"node": node, "data": f"{node}/data", "offset": str(offset)}


def _cases(group: str, damage: Damage) -> Iterator[Case]:
    scenario, name = damage.scenario, f"{DAMAGE_NAMES}{damage.name}"
    yield from in_forms("check", name, ["check", scenario])
    yield from in_forms("log-verify", name, ["log", "verify", "{node}"])
    yield from in_forms("log-verify", f"{name}.replay", ["log", "verify", scenario, "--replay"])
    yield from repair("inspect", f"{name}.all", [node.data for node in last_nodes(scenario)])
    yield from repair("inspect", f"{name}.alone", ["{data}"])
    for action in _REPAIRS[group]:
        yield from _repairs(action, name, scenario)


def _repairs(action: str, name: str, scenario: str) -> Iterator[Case]:
    controllers, brokers = controllers_of(scenario), brokers_of(scenario)
    match action:
        case "truncate":
            yield from repair(action, name, [*_PLACE, "--to", "{offset}", *REST])
        case "accepted":
            yield from repair(
                "truncate", f"{name}.accepted", [*_PLACE, "--to", "{offset}", *REST, "--accept-data-loss"]
            )
        case "before":
            yield from repair("truncate", f"{name}.before", [*_PLACE, "--before", "244", *REST])
        case "cluster-id":
            yield from repair(action, name, [*_PLACE, "--to", NEW_CLUSTER, "--is-a-clone"])
        case "from-broker":
            words = ["--dir", "new/data", "--node-id", "1", *dirs(brokers, "--broker-dir"), *NEW_ENDPOINT, *REST]
            yield from repair(action, name, words)
        case "voters" | "static-voters":
            yield from repair(action, name, [*dirs(controllers), *members(controllers), *REST])
        case "audit":
            yield from in_forms("storage-audit", name, ["storage", "audit", "{node}", "--problems"])
        case "rebuild-indexes":
            yield from repair(action, name, _PLACE)
        case _:
            yield from repair(action, name, [*_PLACE, *REST])
