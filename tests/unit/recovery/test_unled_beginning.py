"""A first leader of Kafka 3.3 to 3.5 writes metadata before its LeaderChange is committed: that proves nothing."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from quorum.cli.main import run
from tests.support.field import field_nodes

LOG = "data/__cluster_metadata-0/00000000000000000000.log"
_EPOCH_AT = 12
"""The epoch of a batch is at this byte of it. The checksum does not cover it."""


@pytest.fixture
def nodes(tmp_path: Path) -> list[Path]:
    """Return three controllers: the first was cut off in epoch 1, the others began epoch 2 in the same way."""
    found = field_nodes("F01", tmp_path)[:3]
    for node in found:
        for path in (node / LOG).parent.glob("*.checkpoint"):
            path.unlink()
        epoch = 1 if node == found[0] else 2
        (node / LOG).parent.joinpath("leader-epoch-checkpoint").write_text(f"0\n1\n{epoch} 0\n")
    first, *others = found
    content = (first / LOG).read_bytes()
    (first / LOG).write_bytes(content[: next(_batches(content))[1]])
    for node in others:
        later = bytearray((node / LOG).read_bytes())
        for start, _ in _batches(bytes(later)):
            struct.pack_into(">i", later, start + _EPOCH_AT, 2)
        (node / LOG).write_bytes(later)
        state = (node / LOG).parent / "quorum-state"
        state.write_text(json.dumps({**json.loads(state.read_text()), "leaderEpoch": 2}))
    return found


def _batches(content: bytes) -> Iterator[tuple[int, int]]:
    """Yield the start of each batch in a segment, and its end, exclusive."""
    at = 0
    while at + _EPOCH_AT < len(content):
        end = at + _EPOCH_AT + struct.unpack_from(">i", content, at + 8)[0]
        if end <= at + _EPOCH_AT:
            return
        yield at, end
        at = end


def test_a_healthy_majority_is_counted_and_started(nodes: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    run(["recover", "inspect", *map(str, nodes)])
    said = " ".join(capsys.readouterr().out.split())
    assert "NOT COUNTED" not in said
    assert "A majority of the voters is here and sound (3 of 3" in said
    assert "Recommended: 1. Start controllers" in said


def test_its_metadata_alone_is_not_called_committed(nodes: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    run(["recover", "inspect", str(nodes[0])])
    assert "Committed:" not in capsys.readouterr().out
