"""A quorum-state that Kafka reads is read by us, too, and one that it refuses is refused.

But for a `data_version` that is no whole number: Kafka takes it for 0, or cuts its fraction off, and we for damage.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from metadata_log.directory.quorum_state import parse_quorum_state
from metadata_log.errors import CorruptFileError
from tests.support.kafka.verdicts import both_verdicts

pytestmark = pytest.mark.campaign

_GONE: Final = object()
_VERSION_0: Final[dict[str, Any]] = {
    "clusterId": "", "leaderId": 1, "leaderEpoch": 3, "votedId": -1, "appliedOffset": 0,
    "currentVoters": [{"voterId": 1}], "data_version": 0,
}  # fmt: skip
_VERSION_1: Final[dict[str, Any]] = {
    "leaderId": 1, "leaderEpoch": 3, "votedId": -1, "votedDirectoryId": "AAAAAAAAAAAAAAAAAAAAAA", "data_version": 1,
}  # fmt: skip
_VALUES: Final = (_GONE, None, [], {}, "x", "", 7, True, 1.5, 1 << 40)


def states() -> dict[str, bytes]:
    """Each field of both versions gone, and with values of all kinds; and other beginnings."""
    found = {}
    for whole in (_VERSION_0, _VERSION_1):
        version = whole["data_version"]
        text = json.dumps(whole).encode()
        found |= {f"{version}-whole": text, f"{version}-bom": b"\xef\xbb\xbf" + text}
        for field in whole:
            for number, value in enumerate(_VALUES):
                changed = {name: kept for name, kept in whole.items() if name != field}
                changed |= {} if value is _GONE else {field: value}
                found[f"{version}-{field}-{number}"] = json.dumps(changed).encode()
    return found


def reads(data: bytes) -> str:
    """Return the verdict as the Java program prints it."""
    try:
        parse_quorum_state(data, "there")
    except CorruptFileError:
        return "refused"
    return "read"


def test_both_read_the_same_files(tmp_path: Path) -> None:
    written = states()
    theirs, ours = both_verdicts("ReadQuorumStates.java", written, tmp_path, reads)
    differing = {name: ours[name] for name, verdict in theirs.items() if ours[name] != verdict}
    assert {name: verdict for name, verdict in differing.items() if "data_version" not in name} == {}
    assert set(differing.values()) == {"refused"}
    assert {"read", "refused"} == set(theirs.values())
