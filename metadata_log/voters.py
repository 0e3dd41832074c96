"""Voters with their directory ids and endpoints, voter sets, and the history of sets by offset.

Decides: membership, majority, and the set in force at an offset (KIP-853: the latest in the log, committed or not).
Must not know: the leader, or the files of the log.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from metadata_log.errors import InvariantViolation, MetadataLogError
from metadata_log.ids import (
    ZERO_DIRECTORY_ID,
    DirectoryId,
    InvalidIdError,
    NodeId,
    ReplicaKey,
    id_text,
    is_reserved_directory_id,
    parse_directory_id,
)
from metadata_log.offsets import Offset
from metadata_log.records.control import (
    KRaftVersionFeature,
    VotersRecord,
    VotersRecordEndpoint,
    VotersRecordVoter,
)

CONTROLLER_LISTENER: Final = "CONTROLLER"
GRPC_LISTENER: Final = "GRPC"
LARGEST_PORT: Final = 65_535
NO_OFFSET: Final = Offset(-1)
"""The offset of a voter set that is in no record."""

_VOTER = re.compile(
    r"(?P<id>\d+)@(?P<host>\[[0-9A-Fa-f:.%]+\]|[^:@/\[\]\s]+):(?P<port>\d+)(/(?P<grpc>\d+))?:(?P<directory>[\w-]+)",
    re.ASCII,
)


class InvalidVoterError(MetadataLogError, ValueError):
    """A text is not a voter, or a list of voters (also in a record) contradicts itself."""


class Endpoint(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The address of one listener of a node. `host` is a name or an IP address, IPv6 without brackets."""

    name: str
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.name}://{_bracketed(self.host)}:{self.port}"


class Voter(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A voter: its replica key, its controller listeners, and the kraft.version range that it supports."""

    key: ReplicaKey
    endpoints: tuple[Endpoint, ...] = ()
    min_kraft_version: int = 0
    max_kraft_version: int = 1

    def supports(self, kraft_version: int) -> bool:
        """Return True if the voter supports this kraft.version."""
        return self.min_kraft_version <= kraft_version <= self.max_kraft_version

    def says_the_same(self, other: Voter) -> bool:
        """Return True if both are equal, apart from the order of listeners."""
        mine, others = sorted(map(str, self.endpoints)), sorted(map(str, other.endpoints))
        return mine == others and msgspec.structs.replace(self, endpoints=()) == msgspec.structs.replace(
            other, endpoints=()
        )

    def endpoint(self, name: str) -> Endpoint | None:
        """Return the voter's listener of that name, or None."""
        return next((endpoint for endpoint in self.endpoints if endpoint.name == name), None)

    def __str__(self) -> str:
        return format_voter(self)


def majority_of(count: int) -> int:
    """Return the size of a majority of `count` voters: more than half."""
    return count // 2 + 1


class VoterSet(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An immutable set of voters, in the order of the record that holds it."""

    voters: tuple[Voter, ...] = ()

    @classmethod
    def of(cls, voters: Iterable[Voter]) -> VoterSet:
        """Return a set of these voters.

        Raises:
            InvalidVoterError: two have the same node id.
        """
        members = tuple(voters)
        ids = [voter.key.node_id for voter in members]
        for node_id in ids:
            if ids.count(node_id) > 1:
                raise InvalidVoterError(f"voter {node_id} is named {ids.count(node_id)} times: each node id once")
        return cls(voters=members)

    @classmethod
    def from_record(cls, record: VotersRecord, where: str = "VotersRecord") -> VoterSet:
        """Return the set in a record. `where`: the place of the record, for an error.

        Raises:
            InvalidVoterError: two of its voters have the same node id.
        """
        members = (
            Voter(
                key=ReplicaKey(node_id=voter.voter_id, directory_id=voter.voter_directory_id),
                endpoints=tuple(Endpoint(name=at.name, host=at.host, port=at.port) for at in voter.endpoints),
                min_kraft_version=voter.kraft_version_feature.min_supported_version,
                max_kraft_version=voter.kraft_version_feature.max_supported_version,
            )
            for voter in record.voters
        )
        try:
            return cls.of(members)
        except InvalidVoterError as error:
            raise InvalidVoterError(f"{where}: {error}") from error

    def to_record(self) -> VotersRecord:
        """Return a record with this set, in its order."""
        return VotersRecord(
            voters=tuple(
                VotersRecordVoter(
                    voter_id=voter.key.node_id,
                    voter_directory_id=voter.key.directory_id,
                    endpoints=tuple(
                        VotersRecordEndpoint(name=at.name, host=at.host, port=at.port) for at in voter.endpoints
                    ),
                    kraft_version_feature=KRaftVersionFeature(
                        min_supported_version=voter.min_kraft_version, max_supported_version=voter.max_kraft_version
                    ),
                )
                for voter in self.voters
            )
        )

    def __len__(self) -> int:
        return len(self.voters)

    def __iter__(self) -> Iterator[Voter]:
        return iter(self.voters)

    def __contains__(self, node_id: object) -> bool:
        return any(voter.key.node_id == node_id for voter in self.voters)

    @property
    def node_ids(self) -> tuple[NodeId, ...]:
        """The node ids, in the set's order."""
        return tuple(voter.key.node_id for voter in self.voters)

    @property
    def keys(self) -> tuple[ReplicaKey, ...]:
        """The replica keys, in the set's order."""
        return tuple(voter.key for voter in self.voters)

    @property
    def majority(self) -> int:
        """The size of a majority: more than half."""
        return majority_of(len(self.voters))

    def get(self, node_id: NodeId) -> Voter | None:
        """Return the voter with that node id, whatever its directory, or None."""
        return next((voter for voter in self.voters if voter.key.node_id == node_id), None)

    def is_voter(self, key: ReplicaKey) -> bool:
        """Return True if this replica votes: the set has its node id with the same directory id (KIP-853).

        A static voter has no directory id; any directory of that node is then the voter.
        """
        voter = self.get(key.node_id)
        return voter is not None and voter.key.directory_id in (ZERO_DIRECTORY_ID, key.directory_id)

    @property
    def are_dynamic(self) -> bool:
        """True if the set is of kraft.version 1: every voter has a directory id, which static voters lack (KIP-853)."""
        return bool(self.voters) and all(voter.key.directory_id != ZERO_DIRECTORY_ID for voter in self.voters)

    def with_voter(self, voter: Voter) -> VoterSet:
        """Return the set with `voter` appended, or in place of the voter with its node id."""
        if voter.key.node_id not in self:
            return VoterSet(voters=(*self.voters, voter))
        return VoterSet(voters=tuple(voter if old.key.node_id == voter.key.node_id else old for old in self.voters))

    def without(self, node_id: NodeId) -> VoterSet:
        """Return the set without the voter of that node id."""
        return VoterSet(voters=tuple(voter for voter in self.voters if voter.key.node_id != node_id))

    def is_only_voter(self, key: ReplicaKey) -> bool:
        """Return True if this replica is the only voter."""
        return len(self.voters) == 1 and self.is_voter(key)


class VotersAt(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A voter set and the offset of its record; -1 if no record holds it."""

    offset: Offset
    voters: VoterSet


class VoterHistory(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An immutable list of voter sets by rising offset. The first may be a checkpoint's or the configured voters."""

    entries: tuple[VotersAt, ...] = ()

    @classmethod
    def start(cls, voters: VoterSet, offset: Offset = NO_OFFSET) -> VoterHistory:
        """Return a history that begins with a configured set (offset -1) or a checkpoint's."""
        return cls(entries=(VotersAt(offset=offset, voters=voters),))

    @property
    def latest(self) -> VoterSet:
        """The set in force: the last one, committed or not. Empty if no set is known."""
        return self.entries[-1].voters if self.entries else VoterSet()

    @property
    def before_latest(self) -> VoterSet:
        """The set that the latest one replaced. Empty if no such set is known."""
        return self.entries[-2].voters if len(self.entries) > 1 else VoterSet()

    @property
    def latest_offset(self) -> Offset:
        """The offset of the latest set's record, or -1."""
        return self.entries[-1].offset if self.entries else NO_OFFSET

    @property
    def kraft_version(self) -> int:
        """The kraft.version at the log's end: 1 if log or checkpoint has the voters, else 0 (configured or unknown)."""
        return int(self.latest_offset >= 0 or self.latest.are_dynamic)

    def holds_before_latest(self, key: ReplicaKey) -> bool:
        """Return True if a set before the latest one holds exactly this replica."""
        return any(key in entry.voters.keys for entry in self.entries[:-1])

    def has_held(self, key: ReplicaKey, committed: Offset) -> bool:
        """Return True if a set that certainly took effect holds exactly this replica.

        A set took effect if its record lies before `committed`, if no record holds it, or if another set followed it: a
        leader starts a change only after the previous one has committed (KIP-853). The last set may still be lost.
        """
        is_in_doubt = len(self.entries) > 1 and self.latest_offset >= committed
        return self.holds_before_latest(key) or (key in self.latest.keys and not is_in_doubt)

    def at(self, end_offset: Offset) -> VoterSet:
        """Return the set in force in the log prefix up to `end_offset` (exclusive). Empty if no set is known."""
        for entry in reversed(self.entries):
            if entry.offset < end_offset:
                return entry.voters
        return VoterSet()

    def carried_at(self, end_offset: Offset) -> VoterSet | None:
        """Return the set in force before `end_offset` if a record holds it, or None (static voters)."""
        entry = next((entry for entry in reversed(self.entries) if entry.offset < end_offset), None)
        return None if entry is None or entry.offset < 0 else entry.voters

    def begin_at(self, end_offset: Offset, voters: VoterSet | None) -> VoterHistory:
        """Return the history of a log that begins with a snapshot with this end and these voters.

        None as `voters`: only sets without a record, the configured ones, remain.
        """
        if voters is None:
            return self.truncate_to(Offset(0))
        return VoterHistory.start(voters, Offset(end_offset - 1))

    def trim_to(self, start_offset: Offset) -> VoterHistory:
        """Return the history after the records before `start_offset` were deleted. The set in force there is kept."""
        index = max((at for at, entry in enumerate(self.entries) if entry.offset < start_offset), default=0)
        return self if index == 0 else VoterHistory(entries=self.entries[index:])

    def append(self, offset: Offset, voters: VoterSet) -> VoterHistory:
        """Return the history with a record of `voters` at `offset`.

        Raises:
            InvariantViolation: the offset is not after the last one.
        """
        if self.entries and offset <= self.entries[-1].offset:
            raise InvariantViolation(f"voters at offset {offset} cannot follow those at {self.entries[-1].offset}")
        return VoterHistory(entries=(*self.entries, VotersAt(offset=offset, voters=voters)))

    def truncate_to(self, end_offset: Offset) -> VoterHistory:
        """Return the history after the log was truncated to `end_offset` (exclusive). Configured voters are kept."""
        kept = tuple(entry for entry in self.entries if entry.offset < end_offset)
        return self if len(kept) == len(self.entries) else VoterHistory(entries=kept)


def kafka_listener_name(voters: Iterable[Voter]) -> str:
    """Return the voters' listener name for Kafka's protocol: the first name that is not GRPC, otherwise CONTROLLER."""
    names = (at.name for voter in voters for at in voter.endpoints if at.name != GRPC_LISTENER)
    return next(names, CONTROLLER_LISTENER)


def parse_voter(text: str, listener: str = CONTROLLER_LISTENER) -> Voter:
    """Return a voter from `id@host:port[/grpc-port]:directory-id`, an IPv6 host in brackets.

    The port is that of `listener`, for Kafka's protocol. A second port adds a GRPC listener on the same host.

    Raises:
        InvalidVoterError: the text has another form, or an id or a port is invalid.
    """
    match = _VOTER.fullmatch(text)
    if match is None:
        raise InvalidVoterError(
            f"{text!r} is not a voter: write id@host:port:directory-id or id@host:port/grpc-port:directory-id "
            "(an IPv6 host in brackets)"
        )
    try:
        directory_id = parse_directory_id(match["directory"])
    except InvalidIdError as error:
        raise InvalidVoterError(f"{text!r}: {error}") from error
    if is_reserved_directory_id(directory_id):
        raise InvalidVoterError(f"{text!r}: {match['directory']} is reserved and no directory's id")
    host = match["host"].strip("[]")
    ports = [(listener, match["port"])] + ([(GRPC_LISTENER, match["grpc"])] if match["grpc"] else [])
    for _, port in ports:
        if not 0 < int(port) < 1 << 16:
            raise InvalidVoterError(f"{text!r}: {port} is not a port")
    return Voter(
        key=ReplicaKey(node_id=NodeId(int(match["id"])), directory_id=DirectoryId(directory_id)),
        endpoints=tuple(Endpoint(name=name, host=host, port=int(port)) for name, port in ports),
    )


def parse_voters(text: str, listener: str = CONTROLLER_LISTENER) -> VoterSet:
    """Return the voter set in a comma-separated list.

    Raises:
        InvalidVoterError: a voter is invalid, two share a node id or a directory id, or two listeners share an address.
    """
    voters = VoterSet.of(parse_voter(part.strip(), listener) for part in text.split(","))
    directories = [voter.key.directory_id for voter in voters]
    if len(set(directories)) != len(directories):
        raise InvalidVoterError(f"{text!r}: two voters have the same directory id")
    _check_addresses(voters)
    return voters


def _check_addresses(voters: VoterSet) -> None:
    """Raise InvalidVoterError if two listeners have the same address.

    Kafka's tool accepts that. One node then gets the Vote requests of two voters, and one vote is never granted.
    """
    seen: dict[tuple[str, int], str] = {}
    for voter in voters:
        for at in voter.endpoints:
            listener = f"{at.name} of voter {voter.key.node_id}"
            other = seen.setdefault((at.host.lower(), at.port), listener)
            if other is not listener:
                raise InvalidVoterError(
                    f"{_bracketed(at.host)}:{at.port} is the address of {other} and of {listener}: give each its own"
                )


def format_voter(voter: Voter) -> str:
    """Return `id@host:port[/grpc-port]:directory-id`, which `parse_voter` reads."""
    grpc = voter.endpoint(GRPC_LISTENER)
    controller = voter.endpoint(CONTROLLER_LISTENER) or next((at for at in voter.endpoints if at != grpc), grpc)
    where = f"{_bracketed(controller.host)}:{controller.port}" if controller else "?:0"
    return f"{voter.key.node_id}@{where}{f'/{grpc.port}' if grpc else ''}:{id_text(voter.key.directory_id)}"


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
