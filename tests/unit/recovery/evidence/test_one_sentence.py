"""`kraft check` and `kraft recover inspect` say one fault in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.directory import QUORUM_STATE_FILE
from metadata_log.files.os_files import OsFiles
from metadata_log.tools.check.check import check_paths
from quorum.recovery.evidence.other_disks import of_other_nodes
from quorum.recovery.inspection import inspect_copies
from tests.support.damage import copy_cluster
from tests.support.damage_files import foreign_node
from tests.support.damage_quorum import NO_VOTE, VOTE_FOR_3

OLDER_NODE_2 = ("failovers", ("node-1", "lagging-follower/node-2", "node-3"))
OLDER_NODE_3 = ("failovers-4.4", ("node-1", "node-2", "lagging-follower/node-3"))


@pytest.mark.parametrize(("scenario", "nodes"), [OLDER_NODE_2, OLDER_NODE_3], ids=["node 2", "node 3"])
def test_a_voter_that_was_set_back(scenario: str, nodes: tuple[str, ...], clusters: Path) -> None:
    paths = [clusters / scenario / node / "data" for node in nodes]
    checked = [found.meaning for found in check_paths(paths).findings if found.kind == "voter_set_back"]
    inspected = inspect_copies(OsFiles(), [str(path) for path in paths]).evidence.stale

    assert checked == [f"it {one.why}" for one in inspected]
    assert len(checked) == 1


def test_a_voter_whose_file_has_lost_its_vote(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    state = cluster.metadata(2) / QUORUM_STATE_FILE
    state.write_text(state.read_text().replace(VOTE_FOR_3, NO_VOTE))
    paths = [cluster.disk(node) for node in (1, 2, 3)]
    checked = [(found.meaning, found.advice) for found in check_paths(paths).findings if found.kind == "vote_forgotten"]
    inspected = inspect_copies(OsFiles(), [str(path) for path in paths])

    assert [meaning for meaning, _ in checked] == [f"it {one.why}" for one in inspected.evidence.stale]
    assert [one.copy.node_id for one in inspected.evidence.stale] == [2]
    assert not inspected.is_whole
    steps = [step.text for step in inspected.plan.steps]
    assert any(text.startswith("Start controllers ") and "2" not in text for text in steps)
    assert any(text.endswith(str(advice)) for _, advice in checked for text in steps)


def test_a_directory_that_the_log_knows_as_another_nodes(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    foreign_node(cluster)
    paths = [cluster.root / f"node-{node}" / "data" for node in (1, 2, 3, 12)]
    checked = [found.meaning for found in check_paths(paths).findings if found.kind == "foreign_node"]
    inspected = of_other_nodes(inspect_copies(OsFiles(), [str(path) for path in paths]).evidence)

    assert checked == [one.facts.meaning() for one in inspected]
    assert [(one.facts.node_id, one.facts.owner) for one in inspected] == [(14, 12)]
