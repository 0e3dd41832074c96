"""Hosts of access control entries in a log: those that no controller of 4.4 adds where ranges are finalised."""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.tools.check.check import check_paths
from tests.support.damage import copy_cluster
from tests.support.damage_access import RANGES, entry
from tests.support.damage_records import appended


@pytest.mark.parametrize(
    ("host", "words"),
    [
        ("10.0.0.0/33", "Invalid CIDR notation '10.0.0.0/33': Value [33] not in range [0,32]"),
        ("::ffff:10.0.0.0/104", "not an IPv6 address"),
        ("", "Host pattern cannot be null or empty"),
    ],
)
def test_a_host_that_controllers_refuse_is_found(host: str, words: str, clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    damage = appended("acl_of_no_host", "strange_value", lambda c: [RANGES, entry(host=host)], index=1)
    planted = damage.plant(cluster)

    (found,) = check_paths([cluster.node(planted.node_id or 0)]).findings

    assert (found.kind, found.offset) == (planted.kind, planted.offset)
    assert f"an entry of host {host!r}, which controllers refuse: " in found.meaning
    assert words in found.meaning
