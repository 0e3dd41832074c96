"""Real processes: controllers are formatted again with the same cluster id while agents hold the former log."""

from __future__ import annotations

import asyncio
import contextlib
import re
import shutil
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

import pytest

from metadata_log.ids import METADATA_TOPIC_NAME
from quorum.cli.demo.cluster import Cluster, Node, wait_until
from quorum.client import Client, DescribedTopic

TOPICS = tuple(f"n{number}" for number in range(5))


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """Running, with five topics on both agents, whose removal of what is stale would follow at once."""
    with Cluster(tmp_path, agent_properties={"delete.topic.delay.ms": "0"}) as cluster:
        cluster.format()
        cluster.start()
        _create(cluster, *TOPICS)
        for agent in cluster.agents.values():
            _await(agent, "make the partitions", lambda node: _partitions(node) == _expected(TOPICS))
            _await(agent, "keep what is committed", lambda node: (node.metadata_dir / "committed-state").exists())
        yield cluster


def _create(cluster: Cluster, *names: str) -> None:
    async def create() -> None:
        async with Client(cluster.bootstrap) as client:
            for name in names:
                await client.create_topic(name, num_partitions=1, replication_factor=2)

    def is_created() -> bool:
        with contextlib.suppress(Exception):
            asyncio.run(create())
            return True
        return False

    wait_until(f"topics {names}", is_created, timeout_s=60)


def _topic(cluster: Cluster, name: str) -> DescribedTopic:
    async def describe() -> DescribedTopic:
        async with Client(cluster.bootstrap) as client:
            return (await client.describe_topics([name]))[0]

    return asyncio.run(describe())


def _partitions(agent: Node) -> list[str]:
    return sorted(path.name for path in agent.log_dir.iterdir() if re.fullmatch(r"n\d+-0", path.name))


def _expected(names: tuple[str, ...]) -> list[str]:
    return sorted(f"{name}-0" for name in names)


def _log(agent: Node) -> bytes:
    """Its bytes, without those that a running process has set aside for more."""
    return (agent.metadata_dir / "00000000000000000000.log").read_bytes().rstrip(b"\0")


def _page(node: Node, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://{node.http_address}{path}", timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return 0, ""


def _holds(node: Node) -> bool:
    return bool(re.search(r'^kraft_held\{reason="other-metadata-topic"\} 1\.0$', _page(node, "/metrics")[1], re.M))


def _await(node: Node, what: str, condition: Callable[[Node], bool]) -> None:
    wait_until(f"{node.name} to {what}", partial(condition, node), timeout_s=60)


def _format_again(cluster: Cluster) -> None:
    """The controllers are stopped."""
    for node in cluster.controllers.values():
        node.log_dir.rename(node.root / "before")
    for node in cluster.controllers.values():
        words = ("--config", str(node.config_file), "--cluster-id", cluster.cluster_id)
        cluster.run("storage", "format", *words, "--initial-controllers", cluster.initial_controllers)
    for node in cluster.controllers.values():
        node.start()
        node.wait_listening()


def _stop(nodes: Iterable[Node]) -> None:
    for node in nodes:
        node.stop()


def _bring_back(cluster: Cluster) -> None:
    _stop(cluster.controllers.values())
    for node in cluster.controllers.values():
        shutil.rmtree(node.log_dir)
        (node.root / "before").rename(node.log_dir)
        node.start()
    for node in cluster.controllers.values():
        node.wait_listening()


def _ids_in_error(agent: Node) -> tuple[str, str]:
    found: list[tuple[str, str]] = re.findall(
        r"\[error\s*\] holds .*own_metadata_topic_id=(\S+) leaders_metadata_topic_id=(\S+)",
        agent.log_file.read_text(),
    )
    assert len(set(found)) == 1, agent.last_lines(40)
    return found[0]


@pytest.mark.parametrize("restarted", [False, True], ids=["alive", "restarted"])
def test_agents_hold_beside_controllers_that_were_formatted_again(cluster: Cluster, restarted: bool) -> None:
    agents = list(cluster.agents.values())
    _stop(cluster.controllers.values())
    if restarted:
        _stop(agents)
    logs = [_log(agent) for agent in agents]
    _format_again(cluster)
    if restarted:
        for agent in agents:
            agent.start()
            agent.wait_listening()
    for agent in agents:
        _await(agent, "hold", _holds)
        status, page = _page(agent, "/readyz")
        assert status == 503
        assert "holds (other-metadata-topic)" in page
        assert _page(agent, "/livez")[0] == 200
        own_id, other_id = _ids_in_error(agent)
        assert own_id in page
        assert other_id in page
    assert [_log(agent) for agent in agents] == logs
    for agent in agents:
        assert _partitions(agent) == _expected(TOPICS)
        assert not (agent.log_dir / "deleting").exists()
        assert not list(agent.log_dir.glob("*-stray"))
    _bring_back(cluster)
    _create(cluster, "n9")
    for agent in agents:
        _await(agent, "follow again", lambda node: _partitions(node) == _expected((*TOPICS, "n9")))
        assert not _holds(agent)


def test_a_released_agent_follows_the_new_quorum(cluster: Cluster) -> None:
    agents = list(cluster.agents.values())
    _stop(cluster.controllers.values())
    _format_again(cluster)
    for agent in agents:
        _await(agent, "hold", _holds)
        own_id, other_id = _ids_in_error(agent)
        agent.stop()
        log = _log(agent)
        out = cluster.run(
            "agent", "release", "-c", str(agent.config_file), "--metadata-topic-id", own_id, "--accept", other_id
        )
        (aside,) = agent.log_dir.glob(f"{METADATA_TOPIC_NAME}-0.*-stray")
        assert str(aside) in out
        assert (aside / "00000000000000000000.log").read_bytes().rstrip(b"\0") == log
        agent.start()
        agent.wait_listening()
    _create(cluster, "n7")
    for agent in agents:
        _await(agent, "follow", lambda node: "n7-0" in _partitions(node))
        assert not _holds(agent)
        assert _page(agent, "/readyz")[0] == 200
    assert len(_topic(cluster, "n7").partitions[0].isr) >= 1
