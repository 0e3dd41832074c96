"""The handlers of the APIs about configs, access control, quotas, credentials and tokens.

The versions that are offered are in `offered_versions`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from quorum.server.kafka.acl_apis import on_create_acls, on_delete_acls, on_describe_acls
from quorum.server.kafka.config_apis import on_alter_configs, on_describe_configs, on_incremental_alter_configs
from quorum.server.kafka.exchange import Exchange
from quorum.server.kafka.quota_apis import on_alter_client_quotas, on_alter_user_scram_credentials
from quorum.server.kafka.token_apis import (
    on_create_delegation_token,
    on_expire_delegation_token,
    on_renew_delegation_token,
)
from quorum.server.node import Node

ADMIN_HANDLERS: Final[dict[int, Callable[[Exchange, Node], None]]] = {
    29: on_describe_acls,
    30: on_create_acls,
    31: on_delete_acls,
    32: on_describe_configs,
    33: on_alter_configs,
    38: on_create_delegation_token,
    39: on_renew_delegation_token,
    40: on_expire_delegation_token,
    44: on_incremental_alter_configs,
    49: on_alter_client_quotas,
    51: on_alter_user_scram_credentials,
}
"""Handlers by API key."""
