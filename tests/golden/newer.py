"""Cases of logs of a later release: each command that looks at one, and the repairs that need no image."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.golden.cases import NEWER_NAMES_PREFIX, Case, Scene, in_forms
from tests.golden.layout import brokers_of, controllers_of
from tests.golden.recovering import NEW_ENDPOINT, REST, dirs, members, repair
from tests.support.newer_logs import NEWER_LOGS, NewerLog, plant_newer

_MIDDLE: Final = 39
"""An end of a batch in the logs of `basic`; the logs of `failovers` begin later."""
_LOOKING: Final[Mapping[str, Sequence[str]]] = {
    "check": ("check", "{all}"),
    "log-diff": ("log", "diff", "{all}"),
    "log-hash": ("log", "hash", "{all}"),
    "log-timeline": ("log", "timeline", "{all}"),
    "features-check": ("features", "check", "{all}", "--target", "4.4"),
}


def newer_scenes() -> Iterator[Scene]:
    """Yield a scene for each log of a later release."""
    for log in NEWER_LOGS:
        yield Scene(f"newer-{log.name}", tuple(_cases(log)), functools.partial(_plant, log))


def _plant(log: NewerLog, clusters: Path, place: Path) -> tuple[Path, Mapping[str, str]]:
    plant_newer(log, clusters, place / log.scenario)
    return place, {"all": log.scenario}


def _cases(log: NewerLog) -> Iterator[Case]:
    name, scenario = f"{NEWER_NAMES_PREFIX}{log.name}", log.scenario
    controllers, brokers = controllers_of(scenario), brokers_of(scenario)
    first = controllers[0]
    for command, words in _LOOKING.items():
        yield from in_forms(command, name, words, "json")
    for depth in ("quick", "replay"):
        yield from in_forms("log-verify", f"{name}.{depth}", ["log", "verify", first.path, f"--{depth}"])
    yield from in_forms("log-dump", name, ["log", "dump", first.path, "--from", str(_MIDDLE)], "json")
    yield from in_forms("shell", f"{name}.tree", ["shell", first.path, "tree"])
    yield from in_forms("shell", f"{name}.hash", ["shell", first.path, "hash"])
    yield from in_forms("storage-audit", name, ["storage", "audit", brokers[0].path])
    yield from in_forms("storage-info", name, ["storage", "info", first.path])
    yield from repair("inspect", f"{name}.all", [node.data for node in (*controllers, *brokers)])
    yield from repair("inspect", f"{name}.alone", [first.data])
    place = ("--dir", first.data)
    for action in ("standalone", "rebuild-indexes"):
        yield from repair(action, name, [*place, *(REST if action == "standalone" else ())])
    for action in ("voters", "static-voters"):
        yield from repair(action, name, [*dirs(controllers), *members(controllers), *REST])
    yield from repair("truncate", name, [*place, "--to", str(_MIDDLE), *REST, "--accept-data-loss"])
    words = ["--dir", "new/data", "--node-id", "1", *dirs(brokers, "--broker-dir"), *NEW_ENDPOINT, *REST]
    yield from repair("from-broker", name, words)
