"""Every applied repair leaves what it left when audit files were of version 1, but for the form of these files."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Final

import pytest

from tests.golden.applied_cases import ARCHIVE
from tests.golden.archive import read_archive, unpacked
from tests.support.audit_versions import differences
from tests.support.fixture_files import FIXTURES

_AUDIT: Final = re.compile(r"^(\S+/audit\.json:)\n(\{\n.*?\n\}\n)", re.MULTILINE | re.DOTALL)
_DIGEST: Final = re.compile(
    r"^  [0-9a-f]{64} +\d+ (\S+/(?:audit\.json|audit-copy\.json|kraft-recover\.journal))$", re.MULTILINE
)
_SHARE: Final = 8
_MISNAMED: Final = frozenset({
    "from-broker/damage/checkpoint_named_far_later", "standalone/damage/log_without_its_checkpoint_past_end",
})  # fmt: skip
"""Repairs that went on from a checkpoint whose name is wrong: the one takes the log now, the other is refused."""

_REFUSED: Final = frozenset({"rebuild-indexes/damage/nobody_votes"})
"""A repair of a log whose valid prefix ends at its first batch now, since the voter set there is empty."""

_PROVEN: Final = frozenset({
    "standalone/dynamic-voters/node-1.beside-brokers",
    *(f"truncate/failovers/node-11.to-{end}" for end in (207, 294, 308)), "truncate/stray/before/node-13.to-67",
    "truncate/every-record/node-11.to-328", "truncate/every-record/node-12.to-337",
    "truncate/every-record-4.4/node-11.to-408", "truncate/every-record-4.4/node-12.to-410",
})  # fmt: skip
"""Repairs that discard records which partition directories prove committed. Version 1 did not count that."""

_DISK: Final = re.compile(r"make room or \w+ the disk")
"""Part of the message of an interrupted repair, which has another verb now."""


@cache
def _first() -> Mapping[str, str]:
    """Return the goldens of version 1, without those of `_MISNAMED` and `_REFUSED`."""
    every = unpacked((FIXTURES / "applied-version-1.tar.xz").read_bytes())
    return {name: text for name, text in every.items() if name not in _MISNAMED | _REFUSED}


def _compare(names: list[str]) -> None:
    found = []
    for name in names:
        first, second = _first()[name], read_archive(ARCHIVE)[name]
        assert _without_audits(first) == _without_audits(second), name
        pairs = zip(_AUDIT.findall(first), _AUDIT.findall(second), strict=True)
        for (path, one), (_, two) in pairs:
            lines = differences(json.loads(one), json.loads(two))
            is_proven = name in _PROVEN
            found += [f"{name}: {path} {line}" for line in lines if not (is_proven and "offsets_lost" in line)]
    assert not found


def _without_audits(text: str) -> str:
    """Return the text without the content and digests of audit files and journals."""
    return _DIGEST.sub(r"  \1", _AUDIT.sub(r"\1", _DISK.sub("", text)))


def test_a_share_of_the_repairs_leaves_the_same_facts() -> None:
    _compare(sorted(_first())[::_SHARE])


@pytest.mark.campaign
def test_every_repair_leaves_the_same_facts() -> None:
    _compare(sorted(_first()))


def test_another_fact_is_seen() -> None:
    first = json.loads(_AUDIT.findall(_first()["standalone/basic/node-1.alone"])[0][1])
    second = json.loads(_AUDIT.findall(read_archive(ARCHIVE)["standalone/basic/node-1.alone"])[0][1])
    assert not differences(first, second)

    second["facts"]["kept_end_offset"] += 1
    second["facts"]["copies"][0]["epoch"] += 1
    second["files"].pop()
    del second["facts"]["may_lose"]

    assert [line.partition(":")[0] for line in differences(first, second)] == [
        ".files", "facts.copies[0].epoch", "facts.kept_end_offset", "facts.may_lose",
    ]  # fmt: skip
