"""The same requests and draws make the same records, byte for byte, however Python hashes."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from metadata_log.records import encode_record, write_version
from quorum.controller.config import ControllerConfig
from tests.support.controller import CLUSTER_ID, LEVEL, ControlledCluster

_ROOT = Path(__file__).resolve().parents[3]
_RUN = "from tests.unit.controller.test_determinism import transcript; print(transcript())"


def transcript() -> str:
    """A hash of all records of a session with racks, a failover, deaths and sweeps over several turns."""
    cluster = ControlledCluster(config=ControllerConfig(node_id=1, cluster_id=CLUSTER_ID, max_records_per_sweep=7))
    cluster.start(1, 2, 3, 4, racks={1: "a", 2: "b", 3: "a"})
    for number in range(40):
        cluster.create(f"t_{number}", partitions=3, factor=3)
    cluster.beat(2, want_fence=True)
    cluster.fail_over()
    cluster.settle()
    cluster.elapse(9_001)
    cluster.beat(1)
    cluster.settle()
    cluster.register(3, incarnation=9)
    cluster.beat(3)
    cluster.settle()
    assert len(cluster.log) > 400
    values = [encode_record(record, write_version(type(record), LEVEL)) for record in cluster.log]
    return hashlib.sha256(b"".join(values)).hexdigest()


def test_the_same_records_under_any_hash_seed() -> None:
    transcripts = {
        subprocess.run(
            [sys.executable, "-c", _RUN],
            cwd=_ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(_ROOT)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        for seed in ("0", "1", "4711")
    }
    assert transcripts == {transcript()}
