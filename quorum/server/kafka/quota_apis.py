"""The APIs of quotas and SCRAM credentials: AlterClientQuotas, AlterUserScramCredentials.

Brokers answer the Describe requests themselves. Sources: KIP-546; KIP-554.
"""

from __future__ import annotations

from typing import Any

from quorum.api.quotas import AlterClientQuotas, AlterClientQuotasResponse, AlteredQuota, QuotaAlteration
from quorum.api.scram import AlterUserScramCredentials, AlterUserScramCredentialsResponse, ScramDeletion, ScramUpsertion
from quorum.server.kafka.exchange import Exchange, ask_controller
from quorum.server.node import Node
from quorum.transport.kafka.wire import Answers


def on_alter_client_quotas(exchange: Exchange, node: Node) -> None:
    """Serve AlterClientQuotas."""
    body = exchange.body
    request = AlterClientQuotas(
        entries=tuple(
            QuotaAlteration(
                entity=tuple((part.entity_type, part.entity_name) for part in entry.entity),
                ops=tuple((op.key, None if op.remove else op.value) for op in entry.ops),
            )
            for entry in body.entries
        ),
        validate_only=body.validate_only,
    )
    ask_controller(exchange, node, request, _altered_quotas)


def _altered_quotas(answers: Answers, said: AlterClientQuotasResponse) -> Any:
    def entity(entry: AlteredQuota) -> Any:
        return tuple(answers.make("EntityData", entity_type=kind, entity_name=name) for kind, name in entry.entity)

    return answers.response(entries=answers.rows("EntryData", said.entries, entity=entity))


def on_alter_user_scram_credentials(exchange: Exchange, node: Node) -> None:
    """Serve AlterUserScramCredentials."""
    body = exchange.body
    request = AlterUserScramCredentials(
        deletions=tuple(ScramDeletion(name=each.name, mechanism=each.mechanism) for each in body.deletions),
        upsertions=tuple(
            ScramUpsertion(
                name=each.name,
                mechanism=each.mechanism,
                iterations=each.iterations,
                salt=each.salt,
                salted_password=each.salted_password,
            )
            for each in body.upsertions
        ),
    )
    ask_controller(exchange, node, request, _altered_users)


def _altered_users(answers: Answers, said: AlterUserScramCredentialsResponse) -> Any:
    return answers.response(results=answers.rows("AlterUserScramCredentialsResult", said.results))
