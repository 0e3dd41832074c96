"""The log of a node, written to memory."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
import structlog

from quorum.node.process.log_lines import configure_logging


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """Lines of the log, a JSON object each."""
    stream = io.StringIO()
    configure_logging(as_json=True, stream=stream)
    yield stream
    structlog.reset_defaults()
