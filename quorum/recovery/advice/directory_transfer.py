"""The transfer of repaired copies to the hosts of their nodes, before any node starts.

Decides: the words for it; without a node on another host there is nothing to say. Must not know: which directory is a
copy, which no file in it shows.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Sequence

import msgspec

from metadata_log.directory import METADATA_DIRECTORY
from metadata_log.voters import Endpoint, VoterSet
from quorum.recovery.advice.commands import contact, set_log_aside_line
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.journal.next_steps import Step, command, step_of


class Home(msgspec.Struct, frozen=True, kw_only=True):
    """A log directory and the address of its node, HOST:PORT; None if unknown.

    `is_broker`: topics' data is in the same directory there.
    """

    node_id: int | None
    log_dir: str
    address: str | None
    is_broker: bool = False

    @property
    def host(self) -> str:
        """The host for `scp`."""
        return "HOST" if self.address is None else self.address.rpartition(":")[0]

    def __str__(self) -> str:
        return f"node {self.node_id}" + ("" if self.address is None else f" to {self.host}")


def home_of(node_id: int | None, log_dir: str, endpoints: Sequence[Endpoint], brokers: Collection[int] = ()) -> Home:
    """Return the home of a directory, at its node's controller endpoint. `brokers`: nodes that are brokers, too."""
    return Home(node_id=node_id, log_dir=log_dir, address=contact(endpoints), is_broker=node_id in brokers)


def homes_of(copies: Sequence[Copy], voters: VoterSet | None, brokers: Collection[int]) -> list[Home]:
    """Return the homes of voters' directories."""
    at = {} if voters is None else {int(voter.key.node_id): voter.endpoints for voter in voters}
    return [
        home_of(copy.node_id, copy.place.log_dir, at.get(-1 if copy.node_id is None else copy.node_id, ()), brokers)
        for copy in copies
    ]


def take_home(homes: Sequence[Home]) -> list[Step]:
    """Return the steps that put repaired directories in place. The old ones are kept."""
    if all(_is_here(home.host) for home in homes):
        return []
    alone, both = [home for home in homes if not home.is_broker], [home for home in homes if home.is_broker]
    return [*(_take_directories(alone) if alone else ()), *([_take_logs(both)] if both else ())]


def _take_directories(homes: Sequence[Home]) -> list[Step]:
    lines = tuple(command("scp", "-rp", home.log_dir, f"{home.host}:DATA_DIR.new") for home in homes)
    into = "put the new one in its place, owned by the user that the node runs as"
    if len(homes) == 1:
        text = (
            f"Unless {homes[0].log_dir} is in its place already: take it there ({homes[0]}), keep the old one, which "
            f"nothing starts from again, and {into}"
        )
        return [step_of(text=text, commands=lines)]
    return [
        step_of(
            text=f"Take each directory to its host, unless it is in its place already: {_names(homes)}",
            commands=lines,
        ),
        step_of(
            text=f"On each host that got one: keep the old directory, which nothing starts from again, and {into}",
            commands=(command("mv", "DATA_DIR", "DATA_DIR.before-recovery"), command("mv", "DATA_DIR.new", "DATA_DIR")),
        ),
    ]


def _take_logs(homes: Sequence[Home]) -> Step:
    """Return the step for nodes that are brokers: only the metadata log is replaced, since topics are next to it."""
    return step_of(
        text="Unless it is in its place already, take of each node that is a broker only the "
        f"{METADATA_DIRECTORY} to its host ({_names(homes)}), and put it in the place of the old one, owned by the "
        "user that the node runs as. The topics' data beside it must stay: do not move the directory",
        commands=(
            *(
                command("scp", "-rp", f"{home.log_dir}/{METADATA_DIRECTORY}", f"{home.host}:DATA_DIR.new-log")
                for home in homes
            ),
            set_log_aside_line(),
            command("mv", "DATA_DIR.new-log", f"DATA_DIR/{METADATA_DIRECTORY}"),
        ),
    )


def _names(homes: Sequence[Home]) -> str:
    return ", ".join(map(str, homes))


def _is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
