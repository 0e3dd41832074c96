"""Keeps the log of nodes that run in the test's own process away from the output of commands."""

from __future__ import annotations

import io

import structlog


def keep_logs_apart() -> None:
    """Write the log to memory until the test ends, so that standard output holds the output of commands alone.

    A node's loop and a command's thread would else write into each other's lines.
    """
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(io.StringIO()))
