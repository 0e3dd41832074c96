"""Replay rules of ACLs, quotas, SCRAM credentials, delegation tokens and producer ids."""

from __future__ import annotations

import pytest

from metadata_log.ids import NodeId
from metadata_log.image import MetadataImage, QuotaEntity, ReplayError, ScramUser
from metadata_log.records import (
    AccessControlEntryRecord,
    BeginTransactionRecord,
    ClientQuotaRecord,
    DelegationTokenRecord,
    EntityData,
    MetadataRecord,
    ProducerIdsRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from tests.support.image_records import image_of, uuid


def _acl(number: int, principal: str = "User:a") -> AccessControlEntryRecord:
    return AccessControlEntryRecord(
        id=uuid(number),
        resource_type=2,
        resource_name="orders",
        pattern_type=3,
        principal=principal,
        host="*",
        operation=3,
        permission_type=3,
    )


def _quota(key: str, value: float, *, remove: bool = False, user: str | None = "alice") -> ClientQuotaRecord:
    entity = (EntityData(entity_type="user", entity_name=user), EntityData(entity_type="client-id", entity_name=None))
    return ClientQuotaRecord(entity=entity, key=key, value=value, remove=remove)


def _scram(name: str, mechanism: int, iterations: int = 4096) -> UserScramCredentialRecord:
    return UserScramCredentialRecord(
        name=name, mechanism=mechanism, salt=b"s", stored_key=b"k", server_key=b"v", iterations=iterations
    )


def _token(token_id: str, expiration: int = 3) -> DelegationTokenRecord:
    return DelegationTokenRecord(
        owner="User:a",
        requester="User:b",
        renewers=("User:c",),
        issue_timestamp=1,
        max_timestamp=9,
        expiration_timestamp=expiration,
        token_id=token_id,
    )


def _producer_ids(next_producer_id: int) -> ProducerIdsRecord:
    return ProducerIdsRecord(broker_id=NodeId(1), broker_epoch=1, next_producer_id=next_producer_id)


def test_acls_come_and_go_by_id() -> None:
    image = image_of(_acl(1), _acl(2, "User:b"))
    assert {acl_id: acl.principal for acl_id, acl in image.acls.by_id.items()} == {
        uuid(1): "User:a",
        uuid(2): "User:b",
    }
    after = image_of(RemoveAccessControlEntryRecord(id=uuid(1)), base=image)
    assert set(after.acls.by_id) == {uuid(2)}
    assert len(image.acls.by_id) == 2


def test_quotas_are_kept_by_entity_whatever_the_order_of_its_parts() -> None:
    image = image_of(_quota("rate", 1.5), _quota("bytes", 2.0), _quota("rate", 3.0, user=None))
    alice = QuotaEntity(parts=(("client-id", None), ("user", "alice")))
    assert dict(image.client_quotas.by_entity[alice]) == {"rate": 1.5, "bytes": 2.0}
    assert len(image.client_quotas.by_entity) == 2
    less = image_of(_quota("rate", 0.0, remove=True), _quota("none", 0.0, remove=True), base=image)
    assert dict(less.client_quotas.by_entity[alice]) == {"bytes": 2.0}
    assert alice not in image_of(_quota("bytes", 0.0, remove=True), base=less).client_quotas.by_entity


def test_scram_credentials_are_one_per_user_and_mechanism() -> None:
    image = image_of(_scram("a", 1), _scram("a", 2), _scram("a", 1, 8192))
    assert image.scram.credentials[ScramUser(name="a", mechanism=1)].iterations == 8192
    after = image_of(RemoveUserScramCredentialRecord(name="a", mechanism=1), base=image)
    assert set(after.scram.credentials) == {ScramUser(name="a", mechanism=2)}


def test_a_credential_does_not_show_itself() -> None:
    credential = image_of(_scram("a", 1)).scram.credentials[ScramUser(name="a", mechanism=1)]
    assert repr(credential) == "ScramCredential(hidden)"


def test_delegation_tokens_are_renewed_and_removed() -> None:
    image = image_of(_token("x"), _token("y"), _token("x", 7))
    token = image.delegation_tokens.by_id["x"]
    assert (token.owner, token.requester, token.renewers) == ("User:a", "User:b", ("User:c",))
    assert (token.issue_timestamp, token.max_timestamp, token.expiration_timestamp) == (1, 9, 7)
    after = image_of(
        RemoveDelegationTokenRecord(token_id="x"), RemoveDelegationTokenRecord(token_id="none"), base=image
    )
    assert set(after.delegation_tokens.by_id) == {"y"}


def test_producer_ids_rise() -> None:
    assert MetadataImage.empty().producer_ids.next_producer_id == -1
    assert image_of(_producer_ids(1000), _producer_ids(2000)).producer_ids.next_producer_id == 2000


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (RemoveAccessControlEntryRecord(id=uuid(9)), "there is no access control entry with id"),
        (RemoveUserScramCredentialRecord(name="a", mechanism=2), "user 'a' has no credential of mechanism 2"),
        (_producer_ids(1000), "1000 is not above 1000"),
        (BeginTransactionRecord(name="x"), "it is no record of the image"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else value[:20],
)
def test_nonsense_is_refused_by_name_and_offset(record: MetadataRecord, why: str) -> None:
    base = image_of(_acl(1), _scram("a", 1), _producer_ids(1000))
    with pytest.raises(ReplayError, match=why) as caught:
        image_of(record, base=base)
    assert (caught.value.record, caught.value.offset) == (type(record).__name__, 3)
    assert base == image_of(_acl(1), _scram("a", 1), _producer_ids(1000))
