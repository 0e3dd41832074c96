"""The tests ask real addresses whether a controller lives there: those of the recorded clusters, where none may."""

from __future__ import annotations

from quorum.cli.demo.cluster import free_ports
from quorum.recovery.copies.copy_reader import read_copy
from quorum.recovery.evidence.repair_evidence import evidence_of
from quorum.recovery.journal.log_directories import find_place
from tests.support.repairs import load


def test_no_other_test_is_given_a_port_that_a_recorded_log_names() -> None:
    named = set()
    for scenario in ("basic", "failovers", "static-3.9"):
        files = load(f"{scenario}/node-1/data")
        named |= {endpoint.port for endpoint in evidence_of([read_copy(files, find_place(files, "/data"))]).endpoints()}
    assert len(named) >= 3
    assert max(free_ports(100)) < min(named)
