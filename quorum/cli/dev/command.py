"""`kraft dev`: three controllers and two broker agents in the foreground, for a developer of Kafka applications.

Decides: when the cluster is ready, what it prints, and that no process outlives the command.
"""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from quorum.cli.errors import CliError, say
from quorum.cli.output import print_table

if TYPE_CHECKING:
    from quorum.cli.demo.cluster import Cluster, Node
    from quorum.cli.dev.place import SavedCluster

EPILOG: Final = "Examples:  kraft dev    kraft dev --dir /tmp/second --port 19400"

_DEFAULT: Final = Path("kraft-dev")
_HIGHEST_PORT: Final = 65_535 - 12
_LOOK_EVERY_S: Final = 0.2
_READY_TIMEOUT_S: Final = 60.0


def run(
    directory: Annotated[
        Path, typer.Option("--dir", help="Where the cluster's files are, and stay.", file_okay=False)
    ] = _DEFAULT,
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            help="The first of 13 ports in a row, for a new cluster.",
            show_default="19300",
            min=1,
            max=_HIGHEST_PORT,
        ),
    ] = None,
) -> None:
    """Run three controllers and two broker agents on this machine, in the foreground, until Ctrl-C or SIGTERM.

    It prints their addresses and five commands to try. It needs neither Spark nor Java. The files stay: a second start
    goes on with the same cluster. To start over, remove the directory. All listen on loopback only.
    """
    from quorum.cli.demo.cluster import NodeFailedError  # noqa: PLC0415  (not needed for help)
    from quorum.cli.demo.interrupts import Interrupted, interrupts  # noqa: PLC0415
    from quorum.cli.dev.place import dev_directory  # noqa: PLC0415

    try:
        with interrupts(), dev_directory(directory) as (place, saved):
            _run_cluster(place, saved, port)
    except (NodeFailedError, TimeoutError) as error:
        raise CliError(f"{error}\nNo process is left.") from error
    except Interrupted as interrupted:
        say(f"kraft dev: stopped by {interrupted} before the cluster was ready; no process is left.")
        raise typer.Exit(interrupted.exit_code) from interrupted


def _run_cluster(place: Path, saved: SavedCluster | None, port: int | None) -> None:
    from quorum.cli.demo.cluster import Cluster  # noqa: PLC0415  (not needed for help)
    from quorum.cli.demo.interrupts import Interrupted  # noqa: PLC0415
    from quorum.cli.dev.place import AGENTS, CONTROLLERS, PORTS, check_ports_free, first_port  # noqa: PLC0415

    first = first_port(port, saved, place)
    cluster_id = None if saved is None else saved.cluster_id
    with Cluster(
        place, controllers=CONTROLLERS, agents=AGENTS, ports=range(first, first + PORTS), cluster_id=cluster_id
    ) as cluster:
        check_ports_free(cluster)
        if saved is None:
            _format(cluster, place, first)
        else:
            for node in cluster.nodes:  # the directory may have another path than the last time
                node.write_config()
        cluster.start()
        _wait_ready(cluster)
        try:
            _describe(cluster, place)
            _watch(cluster)
        except Interrupted as interrupted:
            _stop(cluster, interrupted)


def _format(cluster: Cluster, place: Path, port: int) -> None:
    """Format all nodes in this process, which takes a tenth of the time that five commands take."""
    import contextlib  # noqa: PLC0415  (not needed for help)
    import io  # noqa: PLC0415

    from quorum.cli.dev.place import SavedCluster  # noqa: PLC0415
    from quorum.cli.storage import format_storage  # noqa: PLC0415

    for node in cluster.nodes:
        node.write_config()
        with contextlib.redirect_stdout(io.StringIO()):  # a line for each directory
            format_storage(
                node.config_file,
                cluster.cluster_id,
                initial_controllers=cluster.initial_controllers if node.role == "controller" else None,
            )
    SavedCluster(cluster_id=cluster.cluster_id, port=port).write(place)


def _wait_ready(cluster: Cluster) -> None:
    """Wait until each node says that it is ready: the controllers have a leader, and it knows the agents.

    Raises:
        NodeFailedError: a process ended instead.
        TimeoutError: a node is not ready in time.
    """
    from quorum.cli.demo.cluster import wait_until  # noqa: PLC0415  (not needed for help)

    for node in cluster.nodes:

        def is_ready(node: Node = node) -> bool:
            node.check_running()
            return _answers_ready(node)

        wait_until(f"{node.name} to be ready, see {node.log_file}", is_ready, timeout_s=_READY_TIMEOUT_S)


def _answers_ready(node: Node) -> bool:
    import http.client  # noqa: PLC0415  (not needed for help)

    page = http.client.HTTPConnection(node.http_address, timeout=5.0)
    try:
        page.request("GET", "/readyz")
        return page.getresponse().status == http.HTTPStatus.OK
    except OSError:
        return False
    finally:
        page.close()


def _describe(cluster: Cluster, place: Path) -> None:
    print(f"Three controllers and two broker agents run. Cluster id {cluster.cluster_id}, files in {place}.\n")
    rows = [
        {
            "node": node.name,
            "grpc": node.grpc_address,
            "controller": f"127.0.0.1:{node.ports['CONTROLLER']}" if "CONTROLLER" in node.ports else None,
            "health": f"http://{node.http_address}/readyz",
        }
        for node in cluster.nodes
    ]
    headings = {"node": "Node", "grpc": "GRPC", "controller": "CONTROLLER", "health": "Health"}
    print_table(tuple(headings), rows, headings)
    print("\nTry in another terminal:")
    for command in commands_to_try(cluster):
        print(f"  {command}")
    print("\nCtrl-C ends all five. The next `kraft dev` with this directory goes on with this cluster.", flush=True)


def commands_to_try(cluster: Cluster) -> list[str]:
    """Return five commands for a shell, which work in any directory."""
    from quorum.cli.demo.place import kraft_command  # noqa: PLC0415  (not needed for help)

    kraft = kraft_command()
    controllers = f"--bootstrap-controller {','.join(cluster.bootstrap)}"
    agent = next(iter(cluster.agents.values()))
    replica = shlex.quote(str(next(iter(cluster.controllers.values())).metadata_dir))
    return [
        f"{kraft} topics create {controllers} --topic orders --partitions 3 --replication-factor 2 --if-not-exists",
        f"{kraft} topics describe {controllers} --topic orders",
        f"{kraft} quorum describe {controllers}",
        f"{kraft} agent describe --agent {agent.grpc_address}",
        f"{kraft} log dump {replica}",
    ]


def _watch(cluster: Cluster) -> None:
    """Say of each process that ends how it ended.

    Raises:
        CliError: all have ended.
    """
    running = list(cluster.nodes)
    while running:
        time.sleep(_LOOK_EVERY_S)
        for node in [node for node in running if not node.is_running]:
            running.remove(node)
            say(death_of(node))
    raise CliError("all five processes have ended")


def death_of(node: Node) -> str:
    """Return how a node's process ended, and the command that starts it."""
    from quorum.cli.demo.interrupts import signal_name  # noqa: PLC0415  (not needed for help)
    from quorum.cli.demo.place import kraft_command  # noqa: PLC0415

    status = -1 if node.process is None else node.process.returncode
    how = f"was killed by {signal_name(-status)}" if status < 0 else f"ended with status {status}"
    return (
        f"kraft dev: {node.name} {how}; the others go on. Its log: less {shlex.quote(str(node.log_file))}\n"
        f"  Start it in another terminal: {kraft_command()} {node.role} start "
        f"--config {shlex.quote(str(node.config_file))}"
    )


def _stop(cluster: Cluster, interrupted: BaseException) -> None:
    """Stop all nodes cleanly, agents first, and print that. A node that does not stop in time is killed."""
    from quorum.cli.demo.cluster import NodeFailedError  # noqa: PLC0415  (not needed for help)

    say(f"kraft dev: {interrupted}, stopping all")
    try:
        cluster.stop()
    except NodeFailedError as error:
        cluster.kill_all()
        say(f"kraft dev: {error}")
    say("kraft dev: no process is left")
