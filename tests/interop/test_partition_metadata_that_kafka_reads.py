"""A `partition.metadata` that Kafka reads is read by us, with the same topic id; one that it refuses is refused."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Final

import pytest

from metadata_log.directory import parse_partition_metadata
from metadata_log.errors import CorruptFileError
from metadata_log.ids import id_text
from tests.support.kafka.verdicts import both_verdicts

pytestmark = pytest.mark.campaign

_ID: Final = "AbCdEfGhIjKlMnOpQrStUw"
_FILES: Final = 1_000
_SEEDED: Final = (
    b"",
    b"\n",
    b"\n\n",
    b"version: 0",
    b"version: 0\n",
    f"version: 0\ntopic_id: {_ID}\nmore: field\n".encode(),
    f"version: 0\r\ntopic_id: {_ID}\r\n".encode(),
    f"version: 1\ntopic_id: {_ID}".encode(),
    f"version:   0\ntopic_id:\t {_ID}".encode(),
    f"version : 0\ntopic_id : {_ID}".encode(),
    f"version: -1\ntopic_id: {_ID}".encode(),
    f"version: 0\ntopic_id: {_ID}\n".encode() + b"\xff",
    f"version: 0\ntopic_id: {_ID}\n".encode() + b"x" * 9_000 + b"\xff",
    b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA",
)
_ENDS: Final = ("\n", "\n", "\n", "\r\n", "\r", "\n\n", "", " \n", "\x0b", "\x85", "\u2028")
_SEPARATORS: Final = (": ", ": ", ": ", ":", ":  ", ":\t", " : ", ":\x0b", ":\u00a0", "= ", ": : ", ":\f ", "")
_NAMES: Final = ("version", "topic_id", "topic_id", "", "Version", " version", "\ufeffversion", "v:w")
_VERSIONS: Final = (
    "0", "0", "0", "1", "7", "+0", "-0", "-1", "00", "2147483647", "2147483648", "0x0", "\u0660", "", "0 ", "0:",
)  # fmt: skip
_IDS: Final = (
    _ID, _ID, _ID, f"{_ID}==", f"{_ID}=", f"{_ID}x", _ID[:-1], f"{_ID[:-1]}x", f" {_ID}", f"{_ID} ", f"{_ID}: ",
    "AAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAQ", _ID.replace("C", "+"), _ID.replace("C", "\u00fc"), "", "x" * 40,
)  # fmt: skip


def generated() -> dict[str, bytes]:
    """Return files by name: seeded ones, and lines of parts that are right or wrong, some with a flipped bit."""
    chance = random.Random(516)
    found = {f"seeded-{number:04}": data for number, data in enumerate(_SEEDED)}
    while len(found) < _FILES:
        text = ""
        for values in (_VERSIONS, _IDS, ("", "", "more: fields", "x" * 9_000))[: chance.choice((1, 2, 2, 2, 3, 3))]:
            right = chance.random() < 0.6
            name, separator = (_NAMES[0], ": ") if right else (chance.choice(_NAMES), chance.choice(_SEPARATORS))
            text += (
                name
                + separator
                + (values[0] if right else chance.choice(values))
                + ("\n" if right else chance.choice(_ENDS))
            )
        data = bytearray(text.encode())
        if data and chance.random() < 0.1:
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        found[f"drawn-{len(found):04}"] = bytes(data)
    return found


def reads(data: bytes) -> str:
    """Return the verdict as the Java program prints it."""
    try:
        return id_text(parse_partition_metadata(data, "there"))
    except CorruptFileError:
        return "refused"


def test_both_read_the_same_files(tmp_path: Path) -> None:
    written = generated()
    theirs, ours = both_verdicts("ReadPartitionMetadata.java", written, tmp_path, reads)
    assert {written[name]: (verdict, ours[name]) for name, verdict in theirs.items() if ours[name] != verdict} == {}
    refused = sum(verdict == "refused" for verdict in theirs.values())
    assert min(refused, len(theirs) - refused) > _FILES // 5
