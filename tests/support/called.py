"""The type of a command that a test calls in its own process."""

from __future__ import annotations

from collections.abc import Callable

Ran = Callable[..., tuple[int, str, str]]
"""Exit status, standard output and standard error of a command with these words."""
