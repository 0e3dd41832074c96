"""docs/stock-brokers.md, word for word: its configuration and its commands, with loopback addresses for its hosts."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from metadata_log.ids import id_text
from quorum.cli.demo.cluster import LOOPBACK, Cluster, free_ports, wait_until
from tests.support.kafka.archive import java
from tests.support.kafka.cluster import KafkaNode
from tests.support.kafka.tools import KafkaTools
from tests.support.voter_processes import kraft

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(300)]

PAGE: Final = (Path(__file__).parents[2] / "docs/stock-brokers.md").read_text(encoding="utf-8")
BROKERS: Final = (11, 12)


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def commands() -> Iterator[list[list[str]]]:
    """Yield the commands of each block, split into words."""
    for block in blocks("sh"):
        yield [shlex.split(line, comments=True) for line in block.replace("\\\n", " ").splitlines()]


class Place:
    """The local stand-ins for the page's hosts and files."""

    def __init__(self, root: Path, tools: KafkaTools) -> None:
        self.tools = tools
        self.controllers = Cluster(root / "ours", agents=())
        ports = free_ports(len(BROKERS))
        self.brokers = {
            node_id: KafkaNode(root / f"broker-{node_id}", node_id, port)
            for node_id, port in zip(BROKERS, ports, strict=True)
        }

    def here(self, text: str, node_id: int = BROKERS[0]) -> str:
        """Return a text of the page with this node's addresses, ids and paths in place of the page's."""
        for number, node in self.controllers.controllers.items():
            own, grpc = node.ports["CONTROLLER"], node.ports["GRPC"]
            directory = id_text(self.controllers.directory_ids[number])
            for theirs, mine in ((":9093/9094", f":{own}/{grpc}"), (":9093", f":{own}"), (":9094", f":{grpc}")):
                text = text.replace(f"host{number}{theirs}", f"{LOOPBACK}{mine}")
            text = text.replace(f"DIR{number}", directory)
            if number == node_id:
                text = text.replace("controller.properties", str(node.config_file))
        for number, broker in self.brokers.items():
            text = text.replace(f"host{number}:9092", broker.address)
            if number == node_id:
                text = text.replace("/var/lib/kafka/data", str(broker.log_dir))
                text = text.replace("server.properties", str(broker.properties))
        return text.replace("CLUSTER_ID", self.controllers.cluster_id)

    def run(self, words: list[str], node_id: int = BROKERS[0]) -> str:
        """Run a command of the page, which must succeed; return its output."""
        said = ""
        if "|" in words:
            said, words = f"{words[1]}\n", words[words.index("|") + 1 :]
        program, *rest = (self.here(word, node_id) for word in words)
        if program == "kraft":
            status, out, err = kraft(*rest)
            assert status == 0, (words, out, err)
            return out
        tool = re.fullmatch(r"bin/kafka-([a-z-]+)\.sh", program)
        assert tool is not None, program
        return self.tools.run(tool[1], *rest, stdin=said)

    def start_broker(self, node_id: int) -> None:
        """Start a broker with the page's configuration and its two commands."""
        broker = self.brokers[node_id]
        (properties,) = blocks("properties")
        first = f"node.id={BROKERS[0]}"
        assert first in properties
        own = properties.replace(first, f"node.id={node_id}").replace(f"host{BROKERS[0]}:", f"host{node_id}:")
        broker.directory.mkdir()
        broker.properties.write_text(self.here(own, node_id))
        _, (formatting, starting), *_ = commands()
        self.run(formatting, node_id)
        assert starting == ["bin/kafka-server-start.sh", "server.properties"]
        broker.start([*java(self.tools.version), "kafka.Kafka"])

    def close(self) -> None:
        for broker in self.brokers.values():
            broker.kill()
        self.controllers.kill_all()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, kafka_tools: KafkaTools) -> Iterator[Place]:
    place = Place(tmp_path_factory.mktemp("page"), kafka_tools)
    try:
        (new_id, formatting), *_ = commands()
        place.controllers.cluster_id = place.run(new_id).strip()
        for node in place.controllers.nodes:
            node.write_config()
            place.run(formatting, node.node_id)
        place.controllers.start()
        for node_id in BROKERS:
            place.start_broker(node_id)
        for broker in place.brokers.values():
            broker.wait_started()
        yield place
    finally:
        place.close()


def test_the_page_is_done_as_it_is_written(place: Place) -> None:
    _, _, (members, replication, create, describe, produce, consume, check), apart, _ = commands()
    wait_until("both to be observers", lambda: all(f"{each}:" in place.run(members) for each in BROKERS))
    rows = [line.split() for line in place.run(replication).splitlines()]
    assert {row[0] for row in rows if row and row[-1] == "Observer"} == {"11", "12"}
    assert place.run(create).strip() == "Created topic orders."
    assert "Topic: orders " in place.run(describe)
    place.run(produce)
    assert place.run(consume).strip() == "hello"
    assert "nothing" in place.run(check).lower()
    (keeping_apart,) = apart
    assert place.run(keeping_apart).strip() == "Created topic payments."


def test_a_broker_that_has_left_is_unregistered(place: Place) -> None:
    """The page has the same command for an agent."""
    *_, (unregister,) = commands()
    place.brokers[12].stop()
    assert "Broker 12 is no longer registered." in place.run([*unregister[:-1], "12"])


def test_what_a_broker_of_another_cluster_says(place: Place) -> None:
    told = "INCONSISTENT_CLUSTER_ID in FETCH response"
    assert f"| `{told}`, again and again |" in PAGE
    broker = place.brokers[12]
    meta = broker.log_dir / "meta.properties"
    meta.write_text(meta.read_text().replace(place.controllers.cluster_id, "TmV3bHlNYWRlQ2x1c3Rlcg"))
    (broker.metadata_dir / "quorum-state").unlink()
    broker.start([*java(place.tools.version), "kafka.Kafka"])
    wait_until("it to log the error twice", lambda: broker.said().count(told) > 1, timeout_s=60)
    assert broker.is_running


def test_what_a_broker_with_grpc_addresses_says(place: Place) -> None:
    told = "Cancelled in-flight API_VERSIONS request"
    assert f"| `{told}`, and waits forever |" in PAGE
    broker = place.brokers[12]
    broker.kill()
    text = broker.properties.read_text()
    for node in place.controllers.controllers.values():
        text = text.replace(f":{node.ports['CONTROLLER']}", f":{node.ports['GRPC']}")
    broker.properties.write_text(text)
    broker.start([*java(place.tools.version), "kafka.Kafka"])
    wait_until("it to find no controller", lambda: told in broker.said(), timeout_s=60)
    assert broker.is_running
