"""Chooses which requests are drawn, and how often.

Must not know: how a request is sent, or which response is right.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final

from tests.support.differential.access_requests import (
    alter_client_quotas,
    alter_user_scram_credentials,
    create_acls,
    delete_acls,
    describe_acls,
    unregister_broker,
    update_features,
)
from tests.support.differential.asks import Ask
from tests.support.differential.config_requests import alter_configs, incremental_alter_configs
from tests.support.differential.topic_requests import (
    alter_partition_reassignments,
    create_partitions,
    create_topics,
    delete_topics,
    elect_leaders,
)
from tests.support.differential.world import World

CREATE_TOPICS: Final = 19
DELETE_TOPICS: Final = 20
ALTER_CONFIGS: Final = 33
CREATE_PARTITIONS: Final = 37
ALTER_PARTITION_REASSIGNMENTS: Final = 45
ALTER_CLIENT_QUOTAS: Final = 49

_DRAWS: Final[dict[int, tuple[int, Callable[[random.Random, World], dict[str, Any]]]]] = {
    CREATE_TOPICS: (12, create_topics),
    DELETE_TOPICS: (4, delete_topics),
    29: (2, describe_acls),
    30: (3, create_acls),
    31: (2, delete_acls),
    ALTER_CONFIGS: (3, alter_configs),
    CREATE_PARTITIONS: (4, create_partitions),
    43: (2, elect_leaders),
    44: (6, incremental_alter_configs),
    ALTER_PARTITION_REASSIGNMENTS: (3, alter_partition_reassignments),
    ALTER_CLIENT_QUOTAS: (3, alter_client_quotas),
    51: (3, alter_user_scram_credentials),
    57: (2, update_features),
    64: (1, unregister_broker),
}
"""By API: the weight, and the function that draws the fields."""


def draw_request(chance: random.Random, world: World, versions: dict[int, range]) -> Ask:
    """Draw the next request, of an API in `versions`."""
    keys = tuple(key for key in _DRAWS if key in versions)
    key = chance.choices(keys, weights=tuple(_DRAWS[key][0] for key in keys))[0]
    return Ask(key, chance.choice(versions[key]), _DRAWS[key][1](chance, world))
