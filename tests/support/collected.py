"""A pytest plugin that prints one line for each test that a run would run, and the reader of these lines."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field

import pytest

_LINE = re.compile(r"^scenario-test (\S+?\.py)::(.+) (runs|skips)$", re.MULTILINE)
_SKIPPING = re.compile(r"\bpytest\.(skip|xfail|importorskip)\(")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Print the tests that remain after deselection."""
    for item in session.items:
        print(f"scenario-test {item.nodeid} {'skips' if _may_skip(item) else 'runs'}")


def _may_skip(item: pytest.Item) -> bool:
    """Return True if a mark on the test, or a call anywhere in its module, may skip it."""
    if any(item.iter_markers(name) for name in ("skip", "skipif", "xfail") if next(item.iter_markers(name), None)):
        return True
    module = inspect.getmodule(getattr(item, "function", None))
    return module is None or _SKIPPING.search(inspect.getsource(module)) is not None


@dataclass
class Collected:
    """The tests of a run: functions by module and name, their cases, and for each whether it runs."""

    cases: dict[str, list[tuple[str, bool]]] = field(default_factory=dict)

    @classmethod
    def read(cls, text: str) -> Collected:
        """Read the lines that the plugin printed."""
        collected = cls()
        for path, name, verdict in _LINE.findall(text):
            module = path.rsplit("/", 1)[-1].removesuffix(".py")
            collected.cases.setdefault(module, []).append((_without_class(name), verdict == "runs"))
        return collected

    def runs(self, name: str) -> bool:
        """Return True if this `module`, `module::function` or `module::function[case]` exists and all of it runs."""
        module, _, function = name.partition("::")
        found = [
            runs
            for case, runs in self.cases.get(module, [])
            if not function or case == function or case.partition("[")[0] == function
        ]
        return bool(found) and all(found)


def _without_class(name: str) -> str:
    head, bracket, tail = name.partition("[")
    return head.rsplit("::", 1)[-1] + bracket + tail
