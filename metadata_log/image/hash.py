"""The hash of an image: equal for equal metadata, whether it came from the log or from a checkpoint.

Decides: the hashed data and their sum (FORMAT.md, "The image hash"). Must not know: files and nodes.

The hash is a sum over records. A change subtracts the old entries and adds the new ones, so its cost depends only on
its size. Offset and timestamps of the image are not hashed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any, Final, TypeVar

import msgspec

from metadata_log.ids import TopicId
from metadata_log.image.access import AclsImage, ClientQuotasImage, DelegationTokensImage, ProducerIdsImage, ScramImage
from metadata_log.image.checkpoint import known_records_of
from metadata_log.image.cluster import ClusterImage
from metadata_log.image.configs import ConfigsImage
from metadata_log.image.errors import UnwritableMetadataError
from metadata_log.image.image import ImageChanges, MetadataImage
from metadata_log.image.maps import Map
from metadata_log.image.older_release import is_of_older_release
from metadata_log.image.topics import TopicImage, TopicsImage
from metadata_log.records import KRaftVersionRecord, VotersRecord, encode_control, encode_record

_MODULUS: Final = 1 << 256
_BYTES: Final = 32
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class ImageHash(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Two sums modulo 2^256: of the image's records and of the quorum's. Their sum is the hash."""

    metadata: int = 0
    quorum: int = 0

    @property
    def hex(self) -> str:
        """The hash, as 64 hexadecimal digits."""
        return f"{(self.metadata + self.quorum) % _MODULUS:064x}"

    def with_quorum(self, kraft_version: int, voters: VotersRecord | None) -> ImageHash:
        """Return the hash of the same image with this kraft.version and these voters."""
        return ImageHash(metadata=self.metadata, quorum=quorum_sum(kraft_version, voters))

    def after(self, old: MetadataImage, new: MetadataImage, changes: ImageChanges) -> ImageHash:
        """Return the hash of `new` if this is the hash of `old`; `changes` lists their possible differences.

        The cost depends on the changes. Of a topic only the changed partitions are hashed. Of ACLs, quotas, credentials
        and tokens, each changed part is searched whole. A change of metadata.version or of the ELR feature hashes the
        whole image again.

        Raises:
            UnwritableMetadataError: as `records_of`.
        """
        if old.features.metadata_version != new.features.metadata_version or (
            old.features.elr_enabled != new.features.elr_enabled
        ):
            return ImageHash(metadata=_sum(new), quorum=self.quorum)
        _check_begun(new)
        gone, come = _only_changed(old, new, changes), _only_changed(new, old, changes)
        return ImageHash(metadata=(self.metadata - _sum(gone) + _sum(come)) % _MODULUS, quorum=self.quorum)


def image_hash(image: MetadataImage, kraft_version: int, voters: VotersRecord | None) -> ImageHash:
    """Return the hash of a whole image, at about 4 µs a record.

    `kraft_version` and `voters` are in force at the image's end; at kraft.version 0 they are not hashed.

    Raises:
        UnwritableMetadataError: the log has not begun, or the image has data for which its level has no record.
    """
    _check_begun(image)
    return ImageHash(metadata=_sum(image), quorum=quorum_sum(kraft_version, voters))


def _check_begun(image: MetadataImage) -> None:
    if image.features.metadata_version is None and not is_of_older_release(image):
        raise UnwritableMetadataError("there is no metadata.version yet: the log has not been bootstrapped")


def quorum_sum(kraft_version: int, voters: VotersRecord | None) -> int:
    """Return the sum of the quorum's own records, with voters sorted by node id and endpoints by name."""
    if kraft_version == 0:
        return 0
    total = _digest(b"".join(encode_control(KRaftVersionRecord(kraft_version=kraft_version))))
    if voters is not None:
        members = tuple(
            msgspec.structs.replace(voter, endpoints=tuple(sorted(voter.endpoints, key=lambda at: at.name)))
            for voter in sorted(voters.voters, key=lambda voter: voter.voter_id)
        )
        total += _digest(b"".join(encode_control(VotersRecord(voters=members))))
    return total % _MODULUS


def _sum(image: MetadataImage) -> int:
    total = 0
    for record, _ in known_records_of(image):
        total += _digest(encode_record(record, record.VERSIONS[-1]))
    return total % _MODULUS


def _digest(content: bytes) -> int:
    return int.from_bytes(blake2b(content, digest_size=_BYTES).digest(), "big")


def _only_changed(image: MetadataImage, other: MetadataImage, changes: ImageChanges) -> MetadataImage:
    """Return an image with only those entries of `image` that `other` lacks or that differ, and with all features."""
    part = MetadataImage(
        features=image.features,
        topics=_topics(image.topics, other.topics, changes.topics),
        cluster=ClusterImage(
            brokers=_of_keys(image.cluster.brokers, changes.brokers),
            controllers=_of_keys(image.cluster.controllers, changes.controllers),
        ),
        configs=ConfigsImage(by_resource=_of_keys(image.configs.by_resource, changes.configs)),
    )
    return _with_access(part, image, other) if changes.other else part


def _with_access(part: MetadataImage, image: MetadataImage, other: MetadataImage) -> MetadataImage:
    same_producers = image.producer_ids == other.producer_ids
    return msgspec.structs.replace(
        part,
        client_quotas=ClientQuotasImage(
            by_entity=_differing(image.client_quotas.by_entity, other.client_quotas.by_entity)
        ),
        acls=AclsImage(by_id=_differing(image.acls.by_id, other.acls.by_id)),
        scram=ScramImage(credentials=_differing(image.scram.credentials, other.scram.credentials)),
        delegation_tokens=DelegationTokensImage(
            by_id=_differing(image.delegation_tokens.by_id, other.delegation_tokens.by_id)
        ),
        producer_ids=ProducerIdsImage() if same_producers else image.producer_ids,
    )


def _topics(topics: TopicsImage, other: TopicsImage, changed: Iterable[TopicId]) -> TopicsImage:
    parts: dict[TopicId, TopicImage] = {}
    for topic_id in changed:
        topic = topics.by_id.get(topic_id)
        if topic is None:
            continue
        rival = other.by_id.get(topic_id)
        if rival is not None:
            known = {id(partition) for partition in rival.partitions}
            differing = tuple(partition for partition in topic.partitions if id(partition) not in known)
            topic = msgspec.structs.replace(topic, partitions=differing)
        parts[topic_id] = topic
    return TopicsImage(by_id=Map(parts), by_name=Map({topic.name: topic_id for topic_id, topic in parts.items()}))


def _of_keys(entries: Mapping[_Key, _Value], keys: Iterable[_Key]) -> Map[_Key, _Value]:
    return Map({key: entries[key] for key in keys if key in entries})


def _differing(mine: Map[Any, Any], theirs: Map[Any, Any]) -> Map[Any, Any]:
    if mine is theirs:
        return Map()
    return Map({key: value for key, value in mine.items() if theirs.get(key) != value})
