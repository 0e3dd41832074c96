"""Real processes: controllers are formatted again with the same cluster id while agents hold the former log."""

from __future__ import annotations

import asyncio
import contextlib
import re
import shutil
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from metadata_log.directory import read_committed_state, read_quorum_state
from metadata_log.files.os_files import OsFiles
from metadata_log.ids import METADATA_TOPIC_NAME, id_text
from quorum.cli.demo.cluster import Node, wait_until
from quorum.client import Client
from quorum.client.agent_status import NotReadyError, verify_agent
from tests.support.kafka.runbook import Block, blocks_of
from tests.support.local_cluster import Cluster

AGENT_HOST = 21
"""The runbook's host of an agent."""
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


def _holds_at_all(node: Node) -> bool:
    return bool(re.search(r'^kraft_held\{reason="[a-z-]+"\} 1\.0$', _page(node, "/metrics")[1], re.M))


def _await(node: Node, what: str, condition: Callable[[Node], bool]) -> None:
    wait_until(f"{node.name} to {what}", partial(condition, node), timeout_s=60)


def _format_again(cluster: Cluster, controllers: Sequence[Node] = ()) -> None:
    """The controllers, or those, are stopped."""
    chosen = controllers or list(cluster.controllers.values())
    for node in chosen:
        node.log_dir.rename(node.root / "before")
    for node in chosen:
        words = ("--config", str(node.config_file), "--cluster-id", cluster.cluster_id)
        cluster.run("storage", "format", *words, "--initial-controllers", cluster.initial_controllers)
    for node in chosen:
        node.start()
    for node in chosen:
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
    """Return the ids in the line that the runbook quotes; an earlier hold may have one without the leader's id."""
    found: list[tuple[str, str]] = re.findall(
        r"\[error\s*\] holds .*reason=other-metadata-topic .*"
        r"own_metadata_topic_id=(\S+) leaders_metadata_topic_id=(\S+)",
        agent.log_file.read_text(),
    )
    assert len(set(found)) == 1, agent.last_lines(40)
    return found[0]


def _start(nodes: Iterable[Node]) -> None:
    for node in nodes:
        node.start()
    for node in nodes:
        node.wait_listening()


@pytest.mark.parametrize(
    "restarted",
    [pytest.param(False, id="alive"), pytest.param(True, id="restarted", marks=pytest.mark.campaign)],
)
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
        with pytest.raises(NotReadyError, match="holds, and changes nothing"):
            asyncio.run(verify_agent(agent.grpc_address, 10))
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


def _play(cluster: Cluster, node: Node, block: Block, changes: dict[str, str]) -> str:
    """The lines of a runbook's block on a host; return what they printed."""
    said = []
    known = {
        "/var/lib/kafka": str(node.root),
        "/etc/kafka/server.properties": str(node.config_file),
        "CLUSTER_ID": cluster.cluster_id,
        "host1:9094,host2:9094": ",".join(cluster.controllers[each].grpc_address for each in (1, 2)),
        **changes,
    }
    for line in block.commands:
        for written, meant in known.items():
            line = line.replace(written, meant)  # noqa: PLW2901
        words = line.split()
        if words == ["systemctl", "stop", "kafka"]:
            node.stop()
        elif words == ["systemctl", "start", "kafka"]:
            node.start()
            node.wait_listening()
        elif words[0] == "mv":
            shutil.move(words[1], words[2])
        else:
            assert words[0] == "kraft"
            said.append(cluster.run(*words[1:]))
    return "".join(said)


def test_a_released_agent_follows_the_new_quorum(cluster: Cluster) -> None:
    """Step 3 of the runbook."""
    agents = list(cluster.agents.values())
    (block,) = (each for each in blocks_of("another-quorum") if each.host == AGENT_HOST)
    _stop(cluster.controllers.values())
    _format_again(cluster)
    for agent in agents:
        _await(agent, "hold", _holds)
        own_id, other_id = _ids_in_error(agent)
        log = _log(agent)
        out = _play(cluster, agent, block, {"OWN_ID": own_id, "OTHER_ID": other_id})
        (aside,) = agent.log_dir.glob(f"{METADATA_TOPIC_NAME}-0.*-stray")
        assert str(aside) in out
        assert (aside / "00000000000000000000.log").read_bytes().rstrip(b"\0") == log
    _create(cluster, "n7")
    for agent in agents:
        _await(agent, "follow", lambda node: "n7-0" in _partitions(node))
        assert not _holds(agent)
        _await(agent, "be ready", lambda node: _page(node, "/readyz")[0] == 200)


@pytest.mark.campaign
def test_nothing_younger_is_lost_where_the_quorum_is_brought_back_as_of_an_earlier_time(cluster: Cluster) -> None:
    """Its log becomes the longer one in the same epoch. Agents hold until they are released, and delete nothing."""
    controllers, agents = list(cluster.controllers.values()), list(cluster.agents.values())
    _stop(controllers)
    for node in controllers:
        shutil.copytree(node.log_dir, node.root / "backup")
    _start(controllers)
    young = ("n91", "n92")
    _create(cluster, *young)
    for agent in agents:
        _await(agent, "make the younger ones", lambda node: _partitions(node) == _expected((*TOPICS, *young)))
        (agent.log_dir / "n91-0" / "DATA").write_text("precious")
    _stop(controllers)
    for node in controllers:
        node.log_dir.rename(node.root / "former")
        (node.root / "backup").rename(node.log_dir)
    _start(controllers)
    _create(cluster, *(f"n{number}" for number in range(20, 32)))
    for agent in agents:
        _await(agent, "hold", _holds_at_all)
        assert _partitions(agent) == _expected((*TOPICS, *young))
        agent.stop()
        _start([agent])
        _await(agent, "hold after a restart", _holds_at_all)
        agent.stop()
        own_id = id_text(read_committed_state(OsFiles(), str(agent.metadata_dir)).topic_id)
        cluster.run("agent", "release", "-c", str(agent.config_file), "--metadata-topic-id", own_id, "--accept", own_id)
        _start([agent])
        _await(agent, "follow", lambda node: "n31-0" in _partitions(node))
        _await(agent, "quarantine what is younger", lambda node: not {"n91-0", "n92-0"} & {*_partitions(node)})
        (stray,) = agent.log_dir.glob("n91-0.*-stray")
        assert (stray / "DATA").read_text() == "precious"
        assert not list(agent.log_dir.glob("deleting/*"))


def _epoch(node: Node) -> int:
    state = read_quorum_state(OsFiles(), str(node.metadata_dir))
    return -1 if state is None else int(state.leader_epoch)


def _has_checkpoint(node: Node) -> bool:
    return any(not path.name.startswith("0" * 20) for path in node.metadata_dir.glob("*.checkpoint"))


def _voters(cluster: Cluster) -> list[int]:
    async def describe() -> list[int]:
        async with Client(cluster.bootstrap) as client:
            return [int(voter.replica.node_id) for voter in (await client.describe_quorum()).voters]

    return asyncio.run(describe())


@pytest.mark.campaign
def test_a_controller_that_holds_is_replaced(tmp_path: Path) -> None:
    """Step 4 of the runbook: of three controllers two were formatted again, and the third has a checkpoint."""
    with Cluster(tmp_path, agents=(), properties={"metadata.log.max.snapshot.interval.ms": "1000"}) as cluster:
        cluster.format()
        cluster.start()
        third, others = cluster.controllers[3], [cluster.controllers[node] for node in (1, 2)]
        _await(third, "take a checkpoint", _has_checkpoint)
        _stop(cluster.controllers.values())
        epoch = _epoch(third)
        _format_again(cluster, others)
        while _epoch(others[0]) <= epoch:
            for node in others:
                node.stop()
                node.start()
                node.wait_listening()
            _await(others[0], "be in an epoch", lambda node: _page(node, "/readyz")[0] == 200)
        log = _log(third)
        third.start()
        third.wait_listening()
        _await(third, "hold", _holds)
        assert _page(third, "/readyz")[0] == 503
        assert _log(third) == log
        replace, join = (
            each for each in blocks_of("another-quorum") if each.host == 3 and "kraft quorum" in str(each.commands)
        )
        _play(cluster, third, replace, {})
        _await(third, "be ready", lambda node: _page(node, "/readyz")[0] == 200)
        _play(cluster, third, join, {})
        assert _voters(cluster) == [1, 2, 3]
        assert not _holds(third)
