"""Keeps the log of nodes in the test's own process apart from the output of commands."""

from __future__ import annotations

import io

import structlog


def keep_logs_apart() -> None:
    """Write the log to memory until the test ends, so that standard output holds only the output of commands.

    Otherwise a node's event loop and a command's thread would write into each other's lines.
    """
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(io.StringIO()))
