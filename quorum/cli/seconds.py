"""Seconds that a person gives.

Decides: which numbers are a time. Must not know: what is waited for.
"""

from __future__ import annotations

from typing import Final

from quorum.cli.errors import wrong_use

_MOST_S: Final = 1e9
"""Thirty years. What is more, infinite, or no number at all is a slip."""


def a_time(seconds: float) -> float:
    """The seconds, as an option's callback.

    Raises:
        CliError: they are no time that passes.
    """
    if not seconds <= _MOST_S:
        raise wrong_use(f"{seconds} seconds: give a number up to {_MOST_S:.0f}")
    return seconds
