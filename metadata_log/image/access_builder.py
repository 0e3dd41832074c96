"""Replay of the records about clients: ACLs, quotas, SCRAM credentials, delegation tokens, producer ids.

Decides: the effect of each record on these parts of an image, by the rules of Kafka's controller. Must not know: the
other parts.
"""

from __future__ import annotations

from metadata_log.ids import id_text
from metadata_log.image.access import (
    AclEntry,
    AclsImage,
    ClientQuotasImage,
    DelegationToken,
    DelegationTokensImage,
    ProducerIdsImage,
    QuotaEntity,
    ScramCredential,
    ScramImage,
    ScramUser,
)
from metadata_log.image.errors import ImpossibleRecordError
from metadata_log.image.image import MetadataImage
from metadata_log.image.maps import Map
from metadata_log.image.sharing import share
from metadata_log.records import (
    AccessControlEntryRecord,
    ClientQuotaRecord,
    DelegationTokenRecord,
    ProducerIdsRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)

_NO_QUOTAS: Map[str, float] = Map()


def entry_of(record: AccessControlEntryRecord) -> AclEntry:
    """Return the entry that a record adds."""
    return AclEntry(
        resource_type=record.resource_type,
        resource_name=record.resource_name,
        pattern_type=record.pattern_type,
        principal=share(record.principal),
        host=share(record.host),
        operation=record.operation,
        permission_type=record.permission_type,
    )


class AccessBuilder:
    """Applies records one by one; the properties return each part after them."""

    __slots__ = ("_acls", "_credentials", "_next_producer_id", "_quotas", "_tokens")

    def __init__(self, image: MetadataImage) -> None:
        self._acls = image.acls.by_id
        self._credentials = image.scram.credentials
        self._tokens = image.delegation_tokens.by_id
        self._quotas = image.client_quotas.by_entity
        self._next_producer_id = image.producer_ids.next_producer_id

    @property
    def acls(self) -> AclsImage:
        """The part after all records."""
        return AclsImage(by_id=self._acls)

    @property
    def scram(self) -> ScramImage:
        """The part after all records."""
        return ScramImage(credentials=self._credentials)

    @property
    def delegation_tokens(self) -> DelegationTokensImage:
        """The part after all records."""
        return DelegationTokensImage(by_id=self._tokens)

    @property
    def client_quotas(self) -> ClientQuotasImage:
        """The part after all records."""
        return ClientQuotasImage(by_entity=self._quotas)

    @property
    def producer_ids(self) -> ProducerIdsImage:
        """The part after all records."""
        return ProducerIdsImage(next_producer_id=self._next_producer_id)

    def on_acl(self, record: AccessControlEntryRecord) -> None:
        """Apply AccessControlEntryRecord: add an entry."""
        self._acls = self._acls.set(record.id, entry_of(record))

    def on_remove_acl(self, record: RemoveAccessControlEntryRecord) -> None:
        """Apply RemoveAccessControlEntryRecord; raise ImpossibleRecordError if the entry does not exist."""
        if record.id not in self._acls:
            raise ImpossibleRecordError(f"there is no access control entry with id {id_text(record.id)}")
        self._acls = self._acls.delete(record.id)

    def on_scram(self, record: UserScramCredentialRecord) -> None:
        """Apply UserScramCredentialRecord: add or replace the credential of a user and mechanism."""
        credential = ScramCredential(
            salt=record.salt,
            stored_key=record.stored_key,
            server_key=record.server_key,
            iterations=record.iterations,
        )
        self._credentials = self._credentials.set(ScramUser(name=record.name, mechanism=record.mechanism), credential)

    def on_remove_scram(self, record: RemoveUserScramCredentialRecord) -> None:
        """Apply RemoveUserScramCredentialRecord; raise ImpossibleRecordError if the credential does not exist."""
        user = ScramUser(name=record.name, mechanism=record.mechanism)
        if user not in self._credentials:
            raise ImpossibleRecordError(f"user {user.name!r} has no credential of mechanism {user.mechanism}")
        self._credentials = self._credentials.delete(user)

    def on_token(self, record: DelegationTokenRecord) -> None:
        """Apply DelegationTokenRecord: add or replace the token with that token id."""
        token = DelegationToken(
            token_id=record.token_id,
            owner=record.owner,
            requester=record.requester,
            renewers=record.renewers,
            issue_timestamp=record.issue_timestamp,
            max_timestamp=record.max_timestamp,
            expiration_timestamp=record.expiration_timestamp,
        )
        self._tokens = self._tokens.set(record.token_id, token)

    def on_remove_token(self, record: RemoveDelegationTokenRecord) -> None:
        """Apply RemoveDelegationTokenRecord. As in Kafka, an unknown token is no error."""
        if record.token_id in self._tokens:
            self._tokens = self._tokens.delete(record.token_id)

    def on_quota(self, record: ClientQuotaRecord) -> None:
        """Apply ClientQuotaRecord: set or remove one value. The removal of a missing value changes nothing."""
        entity = QuotaEntity.of({part.entity_type: part.entity_name for part in record.entity})
        quotas = self._quotas.get(entity, _NO_QUOTAS)
        if not record.remove:
            self._quotas = self._quotas.set(entity, quotas.set(share(record.key), record.value))
        elif record.key not in quotas:
            return
        elif len(quotas) == 1:
            self._quotas = self._quotas.delete(entity)
        else:
            self._quotas = self._quotas.set(entity, quotas.delete(record.key))

    def on_producer_ids(self, record: ProducerIdsRecord) -> None:
        """Apply ProducerIdsRecord: set the begin of the next block; raise ImpossibleRecordError if it does not rise."""
        if record.next_producer_id <= self._next_producer_id:
            raise ImpossibleRecordError(
                f"the next producer id {record.next_producer_id} is not above {self._next_producer_id}, the last one"
            )
        self._next_producer_id = record.next_producer_id
