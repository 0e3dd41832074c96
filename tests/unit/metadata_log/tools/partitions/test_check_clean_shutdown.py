"""The files of a broker's orderly shutdown are no finding, in any version of Kafka."""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.tools.check.check import check_paths
from metadata_log.tools.partitions.clean_shutdown import CLEAN_SHUTDOWN_FILE
from metadata_log.tools.read.history import open_history
from tests.support.damage import copy_cluster


@pytest.mark.parametrize("content", ["", '{"version":0,"brokerEpoch":-1}', '{"version":0,"brokerEpoch":EPOCH}'])
def test_what_a_broker_writes_is_silent(clusters: Path, tmp_path: Path, content: str) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    state = open_history(cluster.metadata(11)).state_at()
    epoch = next(one.epoch for number, one in state.image.cluster.brokers.items() if number == 11)
    (cluster.disk(11) / CLEAN_SHUTDOWN_FILE).write_text(content.replace("EPOCH", str(epoch)))
    assert check_paths([cluster.root]).findings == ()
