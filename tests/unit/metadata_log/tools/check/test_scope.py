"""Kinds that a check could not judge are named, with the reason."""

from __future__ import annotations

import shutil
from pathlib import Path

from metadata_log.tools.backup.export import export_replica
from metadata_log.tools.check.scope import kinds_not_judged
from metadata_log.tools.findings.finding import KINDS
from metadata_log.tools.read.sources import find_sources


def test_what_could_not_be_judged_is_said_with_the_reason(clusters: Path, tmp_path: Path) -> None:
    export_replica(clusters / "basic" / "node-1", tmp_path / "one")
    shutil.copytree(tmp_path / "one", tmp_path / "old")
    for name in ("quorum-state", "leader-epoch-checkpoint", "partition.metadata", "partitions.json"):
        (tmp_path / "old" / name).unlink()

    def reasons(*paths: Path) -> dict[str, tuple[str, ...]]:
        nodes = find_sources(paths).nodes
        return {
            one.reason: one.kinds for one in kinds_not_judged(nodes, [node for node in nodes if node.node_id == 11])
        }

    assert reasons(*(clusters / "basic" / f"node-{number}" for number in (1, 11))) == {}
    new, old = reasons(tmp_path / "one"), reasons(tmp_path / "old")
    assert new["the export of node 1 is without indexes"] == ("index_wrong", "index_remnant", "producer_file_wrong")
    assert "there is one log alone, and nothing to compare it with" in new
    assert set(old) - set(new) == {
        "the export of node 1 is without quorum-state",
        "the export of node 1 is without leader-epoch-checkpoint",
        "the export of node 1 is without partition.metadata",
    }
    assert all(kind in KINDS for kinds in old.values() for kind in kinds)
