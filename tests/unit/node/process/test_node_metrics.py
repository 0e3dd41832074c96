"""The page on metrics says what the nodes' pages do."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.offsets import LAST_EPOCH, Epoch, Offset
from quorum import __version__
from quorum.node.core.view import NodeView
from quorum.node.process.health import check_ready
from quorum.node.process.metrics import NodeMetrics
from tests.support.node_view import FOLLOWER
from tests.unit.broker_agent.test_offline import opened_agent

PAGE = Path(__file__).parents[4] / "docs/metrics.md"
VIEW = msgspec.structs.replace(
    FOLLOWER,
    high_watermark=Offset(7),
    snapshot_end_offset=Offset(5),
    snapshot_bytes=100,
    snapshot_time_ms=1_800_000_000_000,
)


@pytest.mark.parametrize(("epoch", "ended"), [(LAST_EPOCH, True), (Epoch(3), False)])
def test_readiness_says_that_epochs_are_at_their_end(epoch: Epoch, ended: bool) -> None:
    view = msgspec.structs.replace(VIEW, leader_id=None, epoch=epoch)

    (found,) = [check for check in check_ready(view) if check.name == "leader-known"]

    assert not found.is_ok
    assert ("No election is possible any more" in found.what) is ended
    assert ("`kraft recover epoch` (`kraft docs runbooks/epochs-ended`)" in found.what) is ended


@pytest.mark.parametrize("leader_id", [None, 2])
def test_readiness_counts_the_elections_that_are_left(leader_id: int | None) -> None:
    view = msgspec.structs.replace(VIEW, leader_id=leader_id, epoch=Epoch(LAST_EPOCH - 45))

    (found,) = [check for check in check_ready(view) if check.name == "leader-known"]

    assert found.is_ok is (leader_id is not None)
    assert "Only 45 more elections are possible" in found.what


def test_readiness_of_an_observer_stops_no_controller() -> None:
    view = msgspec.structs.replace(VIEW, leader_id=None, epoch=LAST_EPOCH, is_voter=False)

    (found,) = [check for check in check_ready(view) if check.name == "leader-known"]

    assert "ignores every leader of a lower epoch: stop this node alone, no controller" in found.what


def samples(view: NodeView) -> dict[str, float]:
    text = NodeMetrics().render(view).decode()
    return {sample.name: sample.value for family in text_string_to_metric_families(text) for sample in family.samples}


def rows() -> set[str]:
    """Return the rows of the page's table."""
    agent = opened_agent(SimulatedFiles(), "/one")
    families = NodeMetrics(None, agent.metrics).families(VIEW)
    return {f"| `{each.name}` | {each.type} | {each.documentation} |" for each in families}


def test_the_page_lists_every_metric_and_no_other() -> None:
    listed = re.findall(r"^\| `kraft_\w+` \| (?:gauge|counter|histogram) \|.*$", PAGE.read_text(encoding="utf-8"), re.M)
    assert set(listed) == rows()
    assert len(listed) == len(rows())


def test_the_alerts_ask_for_metrics_that_there_are() -> None:
    names = set(re.findall(r"\b(?:kraft|process)_\w+", PAGE.read_text(encoding="utf-8")))
    there = {name for row in rows() for name in re.findall(r"`(\w+)`", row)}
    there |= {f"{name}{suffix}" for name in there for suffix in ("_total", "_sum", "_count")} | set(samples(VIEW))
    assert names <= there


def test_version_process_and_what_is_not_replayed_yet() -> None:
    found = samples(VIEW)
    assert found["kraft_build_info"] == 1
    assert f'version="{__version__}"' in NodeMetrics().render(VIEW).decode()
    assert found["process_resident_memory_bytes"] > 1 << 20
    assert found["kraft_metadata_apply_lag_records"] == 7


def test_without_a_snapshot_it_has_no_time() -> None:
    name = "kraft_snapshot_latest_timestamp_seconds"
    assert samples(VIEW)[name] == 1_800_000_000
    without = msgspec.structs.replace(VIEW, snapshot_end_offset=Offset(-1), snapshot_time_ms=-1)
    assert name not in samples(without)
    assert samples(without)["kraft_snapshot_latest_end_offset"] == -1
