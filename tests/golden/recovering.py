"""Cases of `kraft recover`: inspection, verification, and the dry run or the refusal of every repair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tests.golden.cases import RANDOM_PORT, Case, in_forms
from tests.golden.layout import FACTS, Node, brokers_of, controllers_of, last_nodes, nodes_of

REST: Final = ("--missing", "rest")
NEW_CLUSTER: Final = "b3RoZXJjbHVzdGVyaWQwMQ"
NEW_ENDPOINT: Final = ("--endpoint", f"CONTROLLER://127.0.0.1:{RANDOM_PORT}")
_NEW_PORT: Final = 29000


def recovering_cases(scenario: str) -> Iterator[Case]:
    """Yield the cases of a scenario."""
    yield from _inspections(scenario)
    yield from _verifications(scenario)
    for node in nodes_of(scenario):
        yield from _of_one_directory(node)
    for node in controllers_of(scenario):
        yield from _standalone(node)
    for node in brokers_of(scenario):
        yield from _from_broker(node)
    yield from _members(scenario)


def dirs(nodes: Sequence[Node], option: str = "--dir") -> list[str]:
    """Return the log directories of these nodes, each after the option."""
    return [word for node in nodes for word in (option, node.data)]


def members(nodes: Sequence[Node]) -> list[str]:
    """Return `--set` with a new address for each of these nodes."""
    return [word for node in nodes for word in ("--set", f"{node.node_id}@127.0.0.1:{_NEW_PORT + node.node_id}")]


def repair(action: str, name: str, words: Sequence[str]) -> Iterator[Case]:
    """Yield the cases of a repair."""
    yield from in_forms(f"recover-{action}", name, ["recover", action, *words])


def _name(node: Node) -> str:
    return f"{node.scenario}/{node.path.partition('/')[2].replace('/', '-')}"


def _others(node: Node) -> list[Node]:
    return [other for other in last_nodes(node.scenario) if other.node_id != node.node_id]


def _copies(scenario: str) -> dict[str, list[str]]:
    """Return the copies that may be looked at together, by name."""
    controllers, brokers = controllers_of(scenario), brokers_of(scenario)
    earlier = [node for node in nodes_of(scenario) if not node.is_last]
    chosen: dict[str, Sequence[Node]] = {
        "every": nodes_of(scenario),
        "last": last_nodes(scenario),
        "controllers": controllers,
        "majority": controllers[:2],
        "brokers": brokers,
        "one-and-brokers": [controllers[0], *brokers],
        "pair": [controllers[-1], brokers[0]],
    }
    if earlier:
        chosen |= {"earlier": earlier, "earlier-and-brokers": [*earlier, *brokers]}
    found = {name: [node.data for node in nodes] for name, nodes in chosen.items()}
    return {**found, "no-copy": [scenario]}


def _inspections(scenario: str) -> Iterator[Case]:
    for name, paths in _copies(scenario).items():
        yield from repair("inspect", f"{scenario}/{name}", paths)
    for node in nodes_of(scenario):
        yield from repair("inspect", _name(node), [node.data])


def _verifications(scenario: str) -> Iterator[Case]:
    for name, paths in _copies(scenario).items():
        yield from repair("verify", f"{scenario}/{name}", paths)
    for node in nodes_of(scenario):
        yield from repair("verify", _name(node), [node.data])


def _of_one_directory(node: Node) -> Iterator[Case]:
    """Yield the repairs of one directory."""
    name, place = _name(node), ["--dir", node.data]
    copies = dirs(_others(node), "--copy")
    ends = FACTS[node.scenario].ends
    for offset in (*ends, ends[0] + 1, 5000):
        yield from repair("truncate", f"{name}.to-{offset}", [*place, "--to", str(offset), *REST])
    last = ["--to", str(ends[-1])]
    yield from repair("truncate", f"{name}.beside-all", [*place, *last, *copies, *REST])
    yield from repair("truncate", f"{name}.accepted", [*place, *last, *REST, "--accept-data-loss"])
    yield from repair("truncate", f"{name}.nobody-said", [*place, *last])
    yield from repair("truncate", f"{name}.before-250", [*place, "--before", "250", *REST])
    yield from repair("drop-snapshot", name, [*place, *REST])
    for file in (file.rpartition("/")[2] for file in node.files if file.endswith(".checkpoint")):
        yield from repair("drop-snapshot", f"{name}/{file}", [*place, *REST, "--checkpoint", file])
    yield from repair("rebuild-indexes", name, place)
    yield from repair("cluster-id", name, [*place, "--to", NEW_CLUSTER])
    yield from repair("cluster-id", f"{name}.clone", [*place, "--to", NEW_CLUSTER, "--is-a-clone"])
    yield from repair("undo", name, place)


def _standalone(node: Node) -> Iterator[Case]:
    name, place, others = _name(node), ["--dir", node.data], _others(node)
    brokers = [other for other in others if other.is_broker]
    yield from repair("standalone", f"{name}.alone", [*place, *REST])
    yield from repair("standalone", f"{name}.nobody-said", place)
    yield from repair("standalone", f"{name}.beside-brokers", [*place, *dirs(brokers, "--copy"), *REST])
    yield from repair("standalone", f"{name}.beside-all", [*place, *dirs(others, "--copy")])
    yield from repair("standalone", f"{name}.elsewhere", [*place, *REST, *NEW_ENDPOINT, "--epoch-gap", "5000"])
    yield from repair("standalone", f"{name}.accepted", [*place, *REST, "--accept-data-loss", "--accept-lost-vote"])


def _from_broker(node: Node) -> Iterator[Case]:
    """Yield the making of controller 1, whose directory would be a new one."""
    name, place = _name(node), ["--dir", "new/data", "--node-id", "1", "--broker-dir", node.data]
    others = _others(node)
    brokers = [other for other in others if other.is_broker]
    yield from repair("from-broker", f"{name}.alone", [*place, *NEW_ENDPOINT, *REST])
    yield from repair("from-broker", f"{name}.no-address", [*place, *REST])
    yield from repair("from-broker", f"{name}.nobody-said", [*place, *NEW_ENDPOINT])
    yield from repair("from-broker", f"{name}.best", [*place, *dirs(brokers, "--broker-dir"), *NEW_ENDPOINT, *REST])
    yield from repair("from-broker", f"{name}.beside-all", [*place, *NEW_ENDPOINT, *dirs(others, "--copy")])
    other = ["--dir", others[0].data, "--node-id", "1", "--broker-dir", node.data]
    yield from repair("from-broker", f"{name}.over-another", [*other, *NEW_ENDPOINT, *REST])


def _members(scenario: str) -> Iterator[Case]:
    """Yield the changes of the voters."""
    controllers, brokers = controllers_of(scenario), brokers_of(scenario)
    configs = [word for node in controllers for word in ("--config", f"{node.path}/server.properties")]
    for action in ("voters", "static-voters"):
        for name, nodes in (("all", controllers), ("first", controllers[:1]), ("two", controllers[1:3])):
            words = [*dirs(nodes), *members(nodes)]
            yield from repair(action, f"{scenario}/{name}", [*words, *REST])
            yield from repair(action, f"{scenario}/{name}.beside-brokers", [*words, *dirs(brokers, "--copy"), *REST])
            yield from repair(action, f"{scenario}/{name}.nobody-said", words)
        words = [*dirs(controllers), *members(controllers[:-1]), *REST]
        yield from repair(action, f"{scenario}/left-out", words)
        yield from repair(action, f"{scenario}/brokers", [*dirs(brokers), *members(brokers), *REST])
        yield from repair(action, f"{scenario}/no-voter", [*dirs(controllers), "--set", "nonsense", *REST])
    words = [*dirs(controllers), *members(controllers), *configs, *REST]
    yield from repair("static-voters", f"{scenario}/configs", words)
    both = [*dirs(controllers), "--to", NEW_CLUSTER]
    yield from repair("cluster-id", f"{scenario}/controllers", both)
    yield from repair("cluster-id", f"{scenario}/controllers.clone", [*both, "--is-a-clone"])
