"""A file of properties, such as `meta.properties`, means to us what it means to Java."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Final

import pytest

from metadata_log.java_properties import MalformedEscapeError, properties_in
from tests.support.kafka.verdicts import both_verdicts

pytestmark = pytest.mark.campaign

_FILES: Final = 2_000
_PARTS: Final = (
    "cluster.id", "node.id", "a", "=", "=", ":", " ", "\t", "\f", "\\", "\\", "\\\n", "\\\r\n", "\n", "\n", "\r",
    "\r\n", "#", "!", "\\u0041", "\\uD835\\uDD4F", "\\u00", "\\u004", "\\n", "\\t", "\\ ", "\\=", "\\:", "\\#", "\\\\",
    "\v", "\x85", "\xa0", "\xe9", "\0",
)  # fmt: skip


def _generated() -> dict[str, bytes]:
    chance = random.Random(853)
    return {
        f"{number:04}": "".join(chance.choices(_PARTS, k=chance.randrange(30))).encode("latin-1")
        for number in range(_FILES)
    }


def _reads(data: bytes) -> str:
    """Return the verdict as the Java program prints it."""
    try:
        found = {one.key: one.value for one in properties_in(data.decode("latin-1"))}
    except MalformedEscapeError:
        return "refused"
    return ";".join(sorted(f"{_units(key)}={_units(value)}" for key, value in found.items() if key))


def _units(text: str) -> str:
    return text.encode("utf-16-be", "surrogatepass").hex()


def test_both_read_the_same_properties(tmp_path: Path) -> None:
    written = _generated()
    theirs, ours = both_verdicts("ReadProperties.java", written, tmp_path, _reads)
    assert {written[name]: (verdict, ours[name]) for name, verdict in theirs.items() if ours[name] != verdict} == {}
    refused = sum(verdict == "refused" for verdict in theirs.values())
    assert min(refused, len(theirs) - refused) > _FILES // 5
