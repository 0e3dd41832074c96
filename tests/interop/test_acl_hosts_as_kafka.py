"""Ranges of hosts in access control entries: Kafka 4.4's own classes judge them as our authorizer does."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from metadata_log.acl_hosts import client_address, is_range, range_of, why_no_host
from tests.support.acl_hosts import HostCase, as_input, parse_cases, stored_cases
from tests.support.fresh_seed import fresh_seed
from tests.support.kafka.jars import class_path, kafka_jars

pytestmark = pytest.mark.campaign

_PROGRAM: Final = Path(__file__).parents[1] / "support" / "kafka" / "AclHosts.java"
_PAIRS: Final = 5000


def test_the_stored_answers_are_kafkas() -> None:
    stored = stored_cases()
    assert judged([(case.host, case.client) for case in stored]) == stored


def test_random_ranges_are_judged_alike() -> None:
    rng = random.Random(fresh_seed("ACL_SEED"))
    cases = judged([(drawn_range(rng), drawn_client(rng)) for _ in range(_PAIRS)])
    for case in cases:
        found, address = range_of(case.host), client_address(case.client)
        _, _, words = (case.refused or "").partition(": ")
        assert (why_no_host(case.host) or "") == words, case
        assert is_range(case.host)
        assert address is not None
        assert (found is not None and found.holds(address)) == case.matches, case
    assert 0 < sum(case.matches for case in cases) < _PAIRS


def judged(pairs: Sequence[tuple[str, str]]) -> list[HostCase]:
    """Return what Kafka's classes make of pairs of host and client."""
    encoding = ["-Dfile.encoding=UTF-8", "-Dstdout.encoding=UTF-8"]
    words = ["java", *encoding, "-cp", class_path(kafka_jars("4.4.0")), str(_PROGRAM)]
    done = subprocess.run(words, input=as_input(pairs), capture_output=True, check=True)
    return parse_cases(done.stdout)


def drawn_range(rng: random.Random) -> str:
    """Return an address in few networks, with a prefix length; now and then one character is another."""
    text = f"{drawn_client(rng)}/{rng.choice((0, 1, 8, 24, 31, 32, 33, 64, 127, 128, 129))}"
    if rng.random() < 0.2:
        at = rng.randrange(len(text))
        text = text[:at] + rng.choice("0123456789abcdef:./") + text[at + rng.randrange(2) :]
    return text if "/" in text else f"{text}/8"


def drawn_client(rng: random.Random) -> str:
    """Return the text of an address of either version."""
    if rng.random() < 0.5:
        return ".".join(str(rng.choice((0, 1, 10, 255))) for _ in range(4))
    groups = [rng.choice(("0", "1", "db8", "ffff")) for _ in range(8)]
    if rng.random() < 0.3:
        return "::".join((":".join(groups[:2]), ":".join(groups[5:])))
    return ":".join(groups)
