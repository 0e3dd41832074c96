"""Reads that are answered from the published image: of any replica that has come far enough, or of the leader once it
has proven that it leads (DESIGN 15, `at_least` and `linearizable`).

Decides: which requests are such reads, and which need no proof. Must not know: where the image comes from.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from metadata_log.image import MetadataImage
from quorum.api import (
    AllocateProducerIds,
    AlterPartition,
    AssignReplicasToDirs,
    BrokerHeartbeat,
    DescribeAcls,
    DescribeClientQuotas,
    DescribeCluster,
    DescribeConfigs,
    DescribeTopics,
    DescribeUserScramCredentials,
    ListPartitionReassignments,
    RegisterBroker,
    RegisterController,
)
from quorum.api.context import RequestContext
from quorum.controller.config import ControllerConfig
from quorum.controller.handlers.describe_acls import handle_describe_acls
from quorum.controller.handlers.describe_client_quotas import handle_describe_client_quotas
from quorum.controller.handlers.describe_cluster import handle_describe_cluster
from quorum.controller.handlers.describe_configs import handle_describe_configs
from quorum.controller.handlers.describe_topics import handle_describe_topics
from quorum.controller.handlers.describe_user_scram_credentials import handle_describe_user_scram_credentials
from quorum.controller.handlers.list_partition_reassignments import handle_list_partition_reassignments
from quorum.controller.result import ControllerResult
from quorum.controller.turn import SoftState, Turn

Read = (
    DescribeAcls
    | DescribeClientQuotas
    | DescribeCluster
    | DescribeConfigs
    | DescribeTopics
    | DescribeUserScramCredentials
    | ListPartitionReassignments
)
READS: Final[dict[type[Read], Callable[[Any, Turn], ControllerResult]]] = {
    DescribeTopics: handle_describe_topics,
    DescribeAcls: handle_describe_acls,
    DescribeClientQuotas: handle_describe_client_quotas,
    DescribeUserScramCredentials: handle_describe_user_scram_credentials,
    DescribeConfigs: handle_describe_configs,
    DescribeCluster: handle_describe_cluster,
    ListPartitionReassignments: handle_list_partition_reassignments,
}

PROVE_NOTHING: Final = (
    RegisterBroker,
    BrokerHeartbeat,
    AlterPartition,
    RegisterController,
    AllocateProducerIds,
    AssignReplicasToDirs,
)
"""Requests of brokers and controllers: they come all the time, and what they are told is fenced by epochs of its own.
Any other answer that wrote nothing tells how things are, and is given only by who has proven that it still leads."""


class ImageReader:
    """Answers reads; holds nothing of the controller's soft state, which a standby does not have."""

    def __init__(self, config: ControllerConfig) -> None:
        self._config = config
        self._state = SoftState(config, MetadataImage.empty())

    def use_kraft_version(self, version: int) -> None:
        """Use this finalised `kraft.version`; Raft knows it, the image does not."""
        if version != self._config.kraft_version:
            self._config = msgspec.structs.replace(self._config, kraft_version=version)

    def read(self, request: Read, context: RequestContext, image: MetadataImage, now_ms: int) -> object:
        """The answer, of the image as it is."""
        turn = Turn(
            config=self._config,
            state=self._state,
            image=image,
            next_offset=image.offset_and_epoch.offset,
            now_ms=now_ms,
            context=context,
            draw=0,
            new_ids=iter(()),
        )
        return READS[type(request)](request, turn).response
