"""The directory of `kraft dev`, and the ports of its cluster.

Decides: whether a cluster is there to go on with. `cluster.json` is written before a node starts. A directory without
it is half-made, unless a node has run there.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Final, Self

import msgspec

from metadata_log.tools.new_files import new_file
from metadata_log.voters import LARGEST_PORT
from quorum.cli.demo.cluster import LOG_NAME, LOOPBACK, Cluster
from quorum.cli.demo.place import Owner, clear, held_directory
from quorum.cli.errors import CliError, wrong_use

CONTROLLERS: Final = (1, 2, 3)
AGENTS: Final = (11, 12)
PORTS: Final = 3 * len(CONTROLLERS) + 2 * len(AGENTS)
"""The number of ports in a row that a cluster takes."""
DEFAULT_PORT: Final = 19_300
OWNER: Final = Owner(
    command="kraft dev",
    option="--dir",
    marker=".kraft-dev",
    text="Made by `kraft dev`, which goes on with the cluster in this directory. Without it, remove all at will.\n",
)
_STATE: Final = "cluster.json"
_FirstPort = Annotated[int, msgspec.Meta(ge=1, le=LARGEST_PORT - PORTS + 1)]


class SavedCluster(msgspec.Struct, frozen=True, kw_only=True):
    """The content of `cluster.json`: what a second start needs of the first."""

    cluster_id: str
    port: _FirstPort
    """The first of the cluster's ports."""

    @classmethod
    def read(cls, place: Path) -> Self | None:
        """Return the saved cluster, or None if no cluster was made here to the end.

        Raises:
            CliError: the file is there and does not say what `kraft dev` wrote.
        """
        path = place / _STATE
        if not path.exists():
            return None
        try:
            return msgspec.json.decode(path.read_bytes(), type=cls)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise CliError(
                f"{path} is not as kraft dev wrote it ({error}): put it back, or remove the directory for a new cluster"
            ) from error

    def write(self, place: Path) -> None:
        """Save the file whole or not at all."""
        hidden = place / f".{_STATE}"
        with new_file(hidden) as file:
            file.write(msgspec.json.encode(self) + b"\n")
        hidden.replace(place / _STATE)


@contextlib.contextmanager
def dev_directory(path: Path) -> Iterator[tuple[Path, SavedCluster | None]]:
    """The directory, locked while the block lasts, and the cluster in it; an earlier start's unfinished files are gone.

    If no cluster is saved in it when the block ends, the directory is left as it was found.

    Raises:
        CliError: something is there that `kraft dev` did not make, or another `kraft dev` is running there. Or a
            cluster has run there, and its `cluster.json` is gone.
    """
    was_there = path.exists()
    with held_directory(path, OWNER) as place:
        saved = SavedCluster.read(place)
        if saved is None:
            if _has_run(place):
                raise CliError(
                    f"{place / _STATE} is missing, but a cluster has run here: put the file back, or remove the "
                    "directory for a new cluster"
                )
            clear(place, OWNER)
        try:
            yield place, saved
        finally:
            if not (place / _STATE).exists() and not _has_run(place):
                clear(place, OWNER)
                (place / OWNER.marker).unlink()
                if not was_there:
                    _remove_if_empty(place)


def _remove_if_empty(place: Path) -> None:
    """Remove the directory, unless another command has just made its own marker in it."""
    try:
        place.rmdir()
    except OSError as error:
        if error.errno != errno.ENOTEMPTY:
            raise


def _has_run(place: Path) -> bool:
    """Return True if a node was started here: its log is there from then on."""
    return any(place.glob(f"*/{LOG_NAME}"))


def first_port(asked: int | None, saved: SavedCluster | None, place: Path) -> int:
    """Return the first of the cluster's ports.

    Raises:
        CliError: the saved cluster has other ports than those asked for. Its voters know each other by their ports.
    """
    if saved is None:
        return DEFAULT_PORT if asked is None else asked
    if asked is not None and asked != saved.port:
        raise wrong_use(
            f"--port {asked}: the cluster in {place} has its ports from {saved.port} on, by which its controllers know "
            "each other: leave --port out, or begin another cluster with --dir"
        )
    return saved.port


def check_ports_free(cluster: Cluster) -> None:
    """Check that each port of the cluster can be listened on now.

    Raises:
        CliError: one or more cannot; it names them all.
    """
    taken: list[str] = []
    for node in cluster.nodes:
        for name, port in node.ports.items():
            why = _why_not_free(port)
            if why is not None:
                taken.append(f"{LOOPBACK}:{port} ({name} of {node.name}): {why}")
    if taken:
        raise CliError(
            f"nothing was started, since {_count(taken)} cannot be listened on: {'; '.join(taken)}. End what listens "
            f"there, or begin another cluster on {PORTS} other ports: kraft dev --port PORT --dir DIR"
        )


def _count(taken: Sequence[str]) -> str:
    return "a port" if len(taken) == 1 else f"{len(taken)} ports"


def _why_not_free(port: int) -> str | None:
    """Return the system's reason, or None if the port is free. A connection that has just ended does not count."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            return "it is taken" if error.errno == errno.EADDRINUSE else os.strerror(error.errno or 0)
    return None
