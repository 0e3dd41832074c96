"""A whole cluster from its setup: voters, agents, stub brokers, clients, and the links between them.

Decides: the nodes, and when a machine that went down comes back. Must not know: the faults and the invariants.
"""

from __future__ import annotations

from typing import Final

from metadata_log.ids import DirectoryId, NodeId, ReplicaKey
from metadata_log.storage.formatter import LogDirectory, format_directory
from metadata_log.voters import Endpoint, Voter, VoterSet
from quorum.node.config.values import voter_list
from tests.simulation.administrators import Administrator
from tests.simulation.agent import AgentNode
from tests.simulation.checkers import Checkers
from tests.simulation.clients import Client
from tests.simulation.clock import TRUE_RATE, WALL_START_MS
from tests.simulation.life import Life
from tests.simulation.network import SimulatedNetwork
from tests.simulation.node import DATA, Node
from tests.simulation.setup import Setup
from tests.simulation.world import US_PER_MS, World

CLUSTER_ID: Final = "4L6g3nShT-eMCtK--X86sw"
LEVEL: Final = 30
FIRST_AGENT: Final = 101
FIRST_PAPER_BROKER: Final = 201
FIRST_CLIENT: Final = 1001
FIRST_ADMINISTRATOR: Final = 2001


class Cluster:
    """A cluster in which everything follows from the setup."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.cluster_id = CLUSTER_ID
        self.world = World(setup.seed)
        self.network = SimulatedNetwork(self)
        self.is_peaceful = False
        keys = [
            ReplicaKey(node_id=NodeId(n), directory_id=DirectoryId(bytes(14) + bytes([2, n])))
            for n in range(1, setup.voters + setup.spares + 1)
        ]
        controllers = [Voter(key=key, endpoints=_endpoints(key.node_id)) for key in keys]
        voters = controllers[: setup.voters]
        self.voters_written = ",".join(f"{at.key.node_id}@n{at.key.node_id}:9093" for at in voters)
        """The static voters in the form of controller.quorum.voters."""
        self.first_voters = voter_list(self.voters_written) if setup.static_voters else VoterSet.of(voters)
        self.checkers = Checkers(self, DATA)
        self.bootstrap = tuple(controller.endpoints[1] for controller in controllers)
        self.voters = [Node(self, each.key, each.endpoints) for each in controllers]
        """All controllers, whether voters or not."""
        self.disks_replaced = 0
        self.asked_by_operators: dict[int, dict[int, tuple[int, str]]] = {node.node_id: {} for node in self.voters}
        """By node: request id → the process and the request without a response."""
        self.agents = [self._agent(FIRST_AGENT + n) for n in range(setup.observers)]
        self.nodes: list[Node] = [*self.voters, *self.agents]
        self.by_host = {endpoint.host: node for node in self.nodes for endpoint in node.endpoints}
        self.clients = [
            Client(self, FIRST_CLIENT + n, only_reads=n >= setup.clients, is_private=0 < n <= setup.private_clients)
            for n in range(setup.clients + setup.readers)
        ]
        self.administrators = [Administrator(self, FIRST_ADMINISTRATOR + n) for n in range(setup.administrators)]
        self._format(None if setup.static_voters else voters)

    def _agent(self, node_id: int) -> AgentNode:
        key = ReplicaKey(node_id=NodeId(node_id), directory_id=DirectoryId(bytes(14) + bytes([2, node_id])))
        return AgentNode(self, key, _endpoints(node_id))

    def _format(self, voters: list[Voter] | None) -> None:
        for node in self.nodes:
            self.format(node, voters if self.first_voters.is_voter(node.key) else None)

    def format(self, node: Node, voters: list[Voter] | None) -> None:
        """Format a node's disk: for the first quorum, or to join it."""
        format_directory(
            node.files,
            [LogDirectory(path=DATA, directory_id=node.key.directory_id)],
            DATA,
            cluster_id=CLUSTER_ID,
            node_id=node.key.node_id,
            level=LEVEL,
            now_ms=WALL_START_MS,
            initial_voters=voters,
            kraft_version=1,
        )

    def replace_disk(self, node: Node) -> None:
        """Let the machine come back with an empty disk and a new directory id."""
        if node.is_up:
            node.end(power=True)
        self.checkers.voters.on_disk_gone(node)
        self.disks_replaced += 1
        self.world.note("a disk is replaced")
        directory_id = DirectoryId(bytes(13) + bytes([7]) + self.disks_replaced.to_bytes(2, "big"))
        node.new_disk(ReplicaKey(node_id=node.key.node_id, directory_id=directory_id))
        self.format(node, None)

    @property
    def broker_count(self) -> int:
        """Return the number of agents and stub brokers."""
        return self.setup.observers + self.setup.paper_brokers

    def start(self) -> None:
        """Start everything within a few milliseconds."""
        world, drift = self.world, self.setup.drift
        for node in self.nodes:
            node.clock.run_at(TRUE_RATE + (world.up_to(2 * drift) - drift if drift else 0))
            world.after(world.up_to(30 * US_PER_MS), node.start)
        for n in range(self.setup.paper_brokers):
            broker_id = FIRST_PAPER_BROKER + n
            life = Life(self, broker_id, 1, DirectoryId(bytes(14) + bytes([3, n])))
            world.after(world.up_to(30 * US_PER_MS), life.look)
        for asker in (*self.clients, *self.administrators):
            asker.start()

    def restart_later(self, node: Node) -> None:
        """Start a node again soon, or after a while."""
        world = self.world
        most_ms = (10, 300, 4_000)[0 if self.is_peaceful else world.up_to(3)]
        world.after(1 + world.up_to(most_ms * US_PER_MS), node.start)

    @property
    def active(self) -> Node | None:
        """Return the active controller of the highest epoch, or None."""
        active = [node for node in self.voters if node.is_up and node.executor.active_epoch is not None]
        return max(active, key=lambda node: node.executor.machine.epoch, default=None)


def _endpoints(node_id: int) -> tuple[Endpoint, ...]:
    return (
        Endpoint(name="CONTROLLER", host=f"n{node_id}", port=9093),
        Endpoint(name="GRPC", host=f"n{node_id}", port=9094),
    )
