"""The rule that a log directory is one broker's, by the registrations up to the record itself.

Decides: which registration names a directory of another broker. Must not know: the other values of a registration.

A batch may hold several registrations, and a checkpoint may have all brokers in one. So the image before the batch is
not enough: `DirectoryOwners` takes each record at its turn.

Source: ClusterControlManager of Kafka 4.3, whose replay stops at such a registration.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from metadata_log.ids import DirectoryId, NodeId, id_text, is_reserved_directory_id
from metadata_log.image import ClusterImage
from metadata_log.records import BrokerRegistrationChangeRecord, RegisterBrokerRecord, UnregisterBrokerRecord
from metadata_log.tools.rules.values import KindAndFault


class DirectoryOwners:
    """The registered directories of all brokers. Records that name another epoch cannot be replayed: they change
    nothing."""

    def __init__(self) -> None:
        self._epochs: dict[NodeId, int] = {}
        self._directories: dict[NodeId, tuple[DirectoryId, ...]] = {}
        self._owners: defaultdict[DirectoryId, set[NodeId]] = defaultdict(set)
        self._before = self._epochs, self._directories

    def start(self, cluster: ClusterImage) -> None:
        """Continue from the brokers of this image."""
        brokers = cluster.brokers.items()
        epochs = {broker_id: broker.epoch for broker_id, broker in brokers}
        self._continue(epochs, {broker_id: broker.directories for broker_id, broker in brokers})

    def begin(self) -> None:
        """Begin a metadata transaction."""
        self._before = self._epochs.copy(), self._directories.copy()

    def abort(self) -> None:
        """Discard all changes since `begin`."""
        self._continue(*self._before)

    def fault(self, record: RegisterBrokerRecord | BrokerRegistrationChangeRecord) -> KindAndFault | None:
        """Return the fault in the directories of a registration, or of a change of one, or None."""
        broker_id = record.broker_id
        for directory in record.log_dirs or ():
            others = self._owners.get(directory, set()) - {broker_id}
            if others and not is_reserved_directory_id(directory):
                fault = f"broker {broker_id} names directory {id_text(directory)}, which is broker {min(others)}'s"
                return "impossible_record", f"{fault}: a controller stops at it"
        return None

    def on_record(self, record: RegisterBrokerRecord | BrokerRegistrationChangeRecord | UnregisterBrokerRecord) -> None:
        """Take a record, after `fault` has judged it."""
        broker_id = record.broker_id
        if isinstance(record, RegisterBrokerRecord):
            self._epochs[broker_id] = record.broker_epoch
            self._own(broker_id, record.log_dirs or ())
        elif self._epochs.get(broker_id) != record.broker_epoch:
            return
        elif isinstance(record, UnregisterBrokerRecord):
            del self._epochs[broker_id]
            self._own(broker_id, ())
        elif record.log_dirs:
            self._own(broker_id, record.log_dirs)

    def _continue(self, epochs: dict[NodeId, int], directories: dict[NodeId, tuple[DirectoryId, ...]]) -> None:
        self._epochs, self._directories = epochs.copy(), {}
        self._owners.clear()
        for broker_id, named in directories.items():
            self._own(broker_id, named)

    def _own(self, broker_id: NodeId, directories: Iterable[DirectoryId]) -> None:
        for directory in self._directories.pop(broker_id, ()):
            self._owners[directory].discard(broker_id)
        self._directories[broker_id] = tuple(dict.fromkeys(directories))
        for directory in self._directories[broker_id]:
            self._owners[directory].add(broker_id)
