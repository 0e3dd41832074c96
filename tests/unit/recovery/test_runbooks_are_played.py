"""Every command of the runbooks is in a block that a test on real Kafka runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.kafka.runbook import RUNBOOKS, blocks_of

PLAYING = Path(__file__).resolve().parents[2] / "interop"
PAGES = sorted(path.stem for path in RUNBOOKS.glob("*.md"))
_COMMAND = re.compile(r"^\s*(?:kraft|kafka-[a-z-]+\.sh|systemctl|scp|mv|sed|mkdir|test) ")


@pytest.mark.parametrize("page", PAGES)
def test_no_command_stands_outside_of_a_block(page: str) -> None:
    text = (RUNBOOKS / f"{page}.md").read_text(encoding="utf-8")
    blocks = blocks_of(page)
    assert blocks
    outside = re.sub(r"^```sh\n.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert not [line for line in outside.splitlines() if _COMMAND.match(line)]


@pytest.mark.parametrize("page", PAGES)
def test_every_page_is_played_by_a_test(page: str) -> None:
    playing = [path.read_text(encoding="utf-8") for path in PLAYING.glob("test_recover_*.py")]
    assert any(re.search(rf'(?:play|blocks_of)\(\s*"{page}"', text) for text in playing)


def test_lines_of_the_recording_on_its_page_are_in_the_recording() -> None:
    recording = (RUNBOOKS / "all-controllers-lost.txt").read_text(encoding="utf-8").splitlines()
    page = (RUNBOOKS / "all-controllers-lost.md").read_text(encoding="utf-8").splitlines()
    start = page.index(f"    {recording[0]}")
    end = page.index(f"    {recording[-1]}")
    shown = [line.removeprefix("    ") for line in page[start : end + 1] if line.strip() not in ("", "...")]
    rest = iter(recording)
    assert all(line in rest for line in shown)
    assert any(line.startswith("    Asked for a live leader:") for line in shown)
