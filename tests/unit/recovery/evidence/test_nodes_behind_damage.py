"""Nodes that registered behind the damage of the only log exist, and are asked for like all others."""

from __future__ import annotations

import pytest

from metadata_log.files.simulated_files import SimulatedFiles
from quorum.recovery.copies.read_copies import read_copies
from quorum.recovery.evidence.repair_evidence import evidence_of
from quorum.recovery.journal.errors import RefusedError
from quorum.recovery.repairs.standalone import propose_standalone
from quorum.recovery.repairs.truncate import propose_truncate
from tests.support.repairs import load, request

LOG = "/data/__cluster_metadata-0/00000000000000000000.log"
UNLISTED = r"named only in what is damaged \(node 2 \(/data\) from offset 15 on\)"


def damaged() -> SimulatedFiles:
    files = load("basic/node-2/data")
    handle = files.open(LOG)
    (byte,) = handle.pread(1, 2000)
    handle.pwrite(bytes([byte ^ 0x10]), 2000)
    handle.fdatasync()
    return files


def test_brokers_that_registered_behind_it_are_absent_ones() -> None:
    known = evidence_of(read_copies(damaged(), ["/data"]))
    assert known.best.end.offset == 15  # brokers 12 and 11 register at 15 and 16
    assert known.best.image is not None
    assert not known.best.image.cluster.brokers
    assert (known.absent_voters, known.absent_brokers) == ((1, 3), (11, 12))


def test_the_printed_command_and_the_refusal_name_them() -> None:
    files = damaged()
    with pytest.raises(RefusedError, match=rf"{UNLISTED} .*truncate .*--missing 1,3,11,12 --accept-data-loss"):
        propose_standalone(files, "/data", [], request())
    said = request(all_missing=False, missing=frozenset({1, 3}), accept_data_loss=True)
    with pytest.raises(RefusedError, match=rf"no copy here of nodes 11,12: .*--missing 1,3,11,12; .*{UNLISTED}"):
        propose_truncate(files, "/data", [], 15, said)
    found = propose_truncate(files, "/data", [], 15, request(accept_data_loss=True))
    assert any("cannot be known or listed" in warning for warning in found.warnings)


def test_a_longer_copy_lists_them_all() -> None:
    files = load("basic/node-1/data", damaged(), "/one")
    known = evidence_of(read_copies(files, ["/data", "/one"]))
    assert (known.absent_voters, known.absent_brokers) == ((3,), (11, 12))
    with pytest.raises(RefusedError) as refused:
        propose_standalone(files, "/data", ["/one"], request())
    assert "cannot be known" not in str(refused.value)
