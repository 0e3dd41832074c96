"""A controller machine behind a gRPC listener in a separate process: for clients that block."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def controlled_process() -> Iterator[str]:
    """Serve two brokers and no topics; yield the address."""
    process = subprocess.Popen(
        [sys.executable, "-m", __name__], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.communicate(timeout=60)  # closes its standard input, with which it ends


async def _serve() -> None:
    from tests.support.controlled_door import controlled  # noqa: PLC0415 (the parent process does not need it)

    async with controlled() as (_, address):
        print(address, flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    from tests.support.loop import run

    run(_serve(), deadline_s=600)
