"""Plants a bug: one module's source is changed in one place when it is imported. Only for a separate process.

Must not know: the bugs (`mutants`).
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Final

import msgspec

PARTS: Final = {
    "snapshots": ("quorum.raft.snapshots", "quorum.node.core.snapshots", "metadata_log.storage.checkpoint"),
    "directory": (
        "metadata_log.files.port", "metadata_log.directory.quorum_state", "metadata_log.reconcile",
        "quorum.node.storage.startup", "quorum.node.storage.open_replica", "broker_agent",
    ),
    "controller": ("quorum.controller", "metadata_log.image"),
    "core": ("quorum.raft",),
    "executor": ("quorum.node",),
    "log": ("metadata_log",),
}  # fmt: skip
"""Prefixes of their module names; the first match counts."""


class Mutant(msgspec.Struct, frozen=True, kw_only=True):
    """One planted bug: `was` occurs in `module` exactly once and is replaced by `becomes`.

    One of the first `seeds` seeds notices it.
    """

    name: str
    module: str
    was: str
    becomes: str
    seeds: int = 400

    @property
    def part(self) -> str:
        """Return the part of the product that has the bug: one of `PARTS`."""
        return next(part for part, modules in PARTS.items() if self.module.startswith(modules))


class NotPlantedError(Exception):
    """The place does not exist, or exists twice."""


def mutated_source(mutant: Mutant) -> tuple[str, str]:
    """Return path and source with the bug."""
    path = Path(__file__).resolve().parents[2] / (mutant.module.replace(".", "/") + ".py")
    source = path.read_text(encoding="utf-8")
    if source.count(mutant.was) != 1:
        raise NotPlantedError(f"{mutant.name}: the text stands {source.count(mutant.was)} times in {mutant.module}")
    return str(path), source.replace(mutant.was, mutant.becomes)


class _Finder(MetaPathFinder):
    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._mutant.module:
            return None
        found = PathFinder.find_spec(fullname, path)
        if found is None:
            return None
        return importlib.util.spec_from_loader(fullname, _Mutating(self._mutant), origin=found.origin)


class _Mutating(Loader):
    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def exec_module(self, module: ModuleType) -> None:
        path, source = mutated_source(self._mutant)
        exec(compile(source, path, "exec"), module.__dict__)


def plant(mutant: Mutant) -> None:
    """Import the module with the bug from now on.

    Raises:
        NotPlantedError: the place does not exist, or the module was imported before.
    """
    mutated_source(mutant)
    if mutant.module in sys.modules:
        raise NotPlantedError(f"{mutant.module} was imported before the bug could be planted")
    sys.meta_path.insert(0, _Finder(mutant))
