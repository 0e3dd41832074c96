"""AlterUserScramCredentials: credentials in the log, and what of them is refused."""

from __future__ import annotations

import base64
import hashlib

import pytest
from msgspec.structs import replace

from metadata_log.image import ScramUser
from metadata_log.records import MetadataRecord, RemoveUserScramCredentialRecord, UserScramCredentialRecord
from quorum.api.context import RequestContext
from quorum.api.error_codes import Error
from quorum.api.scram import AlterUserScramCredentials, AlterUserScramCredentialsResponse, ScramDeletion, ScramUpsertion
from quorum.controller.config import ControllerConfig
from tests.support.controller import CLUSTER_ID, EVE, ControlledCluster

SHA_256, SHA_512 = 1, 2
OK = Error.NONE


@pytest.fixture
def cluster() -> ControlledCluster:
    return ControlledCluster()


def upsert(name: str, mechanism: int = SHA_256, iterations: int = 4096) -> ScramUpsertion:
    return ScramUpsertion(name=name, mechanism=mechanism, iterations=iterations, salt=b"salt", salted_password=b"word")


def remove(name: str, mechanism: int = SHA_256) -> ScramDeletion:
    return ScramDeletion(name=name, mechanism=mechanism)


def alter(
    cluster: ControlledCluster, *asked: ScramDeletion | ScramUpsertion, context: RequestContext | None = None
) -> tuple[dict[str, Error], list[MetadataRecord]]:
    before = cluster.next_offset
    request = AlterUserScramCredentials(
        deletions=tuple(each for each in asked if isinstance(each, ScramDeletion)),
        upsertions=tuple(each for each in asked if isinstance(each, ScramUpsertion)),
    )
    response = cluster.ask(request, context).response
    assert isinstance(response, AlterUserScramCredentialsResponse)
    assert len({each.user for each in response.results}) == len(response.results)
    assert all((each.error is OK) == (each.error_message is None) for each in response.results)
    return {each.user: each.error for each in response.results}, cluster.log[before:]


def test_the_keys_are_those_of_rfc_7677(cluster: ControlledCluster) -> None:
    """The example of RFC 7677: user, password `pencil`, 4096 iterations; its proof is checked as a server does."""
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    salted = hashlib.pbkdf2_hmac("sha256", b"pencil", salt, 4096)
    asked = ScramUpsertion(name="user", mechanism=SHA_256, iterations=4096, salt=salt, salted_password=salted)
    errors, (record,) = alter(cluster, asked)
    assert errors == {"user": OK}
    assert isinstance(record, UserScramCredentialRecord)
    assert (record.name, record.mechanism, record.salt, record.iterations) == ("user", SHA_256, salt, 4096)
    assert base64.b64encode(record.stored_key) == b"WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY="
    assert base64.b64encode(record.server_key) == b"wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
    assert "WG5d" not in repr(cluster.image.scram)


def test_each_mechanism_has_its_credential(cluster: ControlledCluster) -> None:
    alter(cluster, upsert("alice"))
    _, (record,) = alter(cluster, upsert("alice", SHA_512))
    assert isinstance(record, UserScramCredentialRecord)
    assert (len(record.stored_key), len(record.server_key)) == (64, 64)
    credentials = cluster.image.scram.credentials
    assert set(credentials) == {ScramUser(name="alice", mechanism=each) for each in (SHA_256, SHA_512)}
    errors, records = alter(cluster, remove("alice", SHA_512))
    assert errors == {"alice": OK}
    assert records == [RemoveUserScramCredentialRecord(name="alice", mechanism=SHA_512)]


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        (upsert(""), Error.UNACCEPTABLE_CREDENTIAL),
        (upsert("x", 0), Error.UNSUPPORTED_SASL_MECHANISM),
        (upsert("x", 3), Error.UNSUPPORTED_SASL_MECHANISM),
        (upsert("x", iterations=4095), Error.UNACCEPTABLE_CREDENTIAL),
        (upsert("x", SHA_512, iterations=4095), Error.UNACCEPTABLE_CREDENTIAL),
        (upsert("x", iterations=16385), Error.UNACCEPTABLE_CREDENTIAL),
        (replace(upsert("x"), salted_password=b""), Error.UNACCEPTABLE_CREDENTIAL),
        (remove(""), Error.UNACCEPTABLE_CREDENTIAL),
        (remove("x", 3), Error.UNSUPPORTED_SASL_MECHANISM),
        (remove("x"), Error.RESOURCE_NOT_FOUND),
    ],
)
def test_what_is_refused_leaves_the_others_be(
    cluster: ControlledCluster, asked: ScramDeletion | ScramUpsertion, error: Error
) -> None:
    errors, records = alter(cluster, asked, upsert("bob", iterations=16384))
    assert errors == {asked.name: error, "bob": OK}
    assert [record.name for record in records if isinstance(record, UserScramCredentialRecord)] == ["bob"]


@pytest.mark.parametrize(
    "asked",
    [
        (upsert("alice"), upsert("alice", SHA_512)),
        (remove("alice"), upsert("alice")),
        (remove("alice"), remove("alice")),
        (upsert("alice"), upsert("alice"), upsert("alice")),
    ],
)
def test_a_user_is_altered_once_a_request(
    cluster: ControlledCluster, asked: tuple[ScramDeletion | ScramUpsertion, ...]
) -> None:
    alter(cluster, upsert("alice"))
    errors, records = alter(cluster, *asked, upsert("bob"))
    assert errors == {"alice": Error.DUPLICATE_RESOURCE, "bob": OK}
    assert len(records) == 1


def test_the_first_thing_wrong_with_a_user_is_told(cluster: ControlledCluster) -> None:
    errors, records = alter(cluster, remove("alice"), upsert("alice"))
    assert (errors, records) == ({"alice": Error.RESOURCE_NOT_FOUND}, [])


def test_levels_that_know_no_credentials() -> None:
    errors, records = alter(ControlledCluster(level=10, elr=False), upsert("alice"))
    assert (errors, records) == ({"alice": Error.UNSUPPORTED_VERSION}, [])


def test_credentials_are_the_clusters(cluster: ControlledCluster) -> None:
    errors, records = alter(cluster, upsert("alice"), remove("bob"), context=EVE)
    refused = Error.CLUSTER_AUTHORIZATION_FAILED
    assert (errors, records) == ({"alice": refused, "bob": refused}, [])


def test_too_many_at_once() -> None:
    cluster = ControlledCluster(config=ControllerConfig(node_id=1, cluster_id=CLUSTER_ID, max_records_per_batch=1))
    errors, records = alter(cluster, upsert("alice"), upsert("bob"))
    assert (set(errors.values()), records) == ({Error.POLICY_VIOLATION}, [])
