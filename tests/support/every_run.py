"""The cases of a parametrized test that `make test` runs; `make campaign` runs the others."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeVar

import pytest

T = TypeVar("T")


def in_every_run(chosen: Collection[str], cases: Mapping[str, T]) -> list[object]:
    """Return the cases for pytest, named by their keys; cases that are not chosen are marked for the campaign.

    Raises:
        ValueError: no case has a chosen name.
    """
    unknown = set(chosen) - set(cases)
    if unknown:
        raise ValueError(f"no case is called {sorted(unknown)[0]!r}: there are {', '.join(cases)}")
    return [
        pytest.param(case, id=name, marks=() if name in chosen else pytest.mark.campaign)
        for name, case in cases.items()
    ]
