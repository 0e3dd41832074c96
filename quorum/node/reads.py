"""Reads that are answered from the published image: of any replica that has come far enough, or of the leader once it
has proven that it leads (DESIGN 15, `at_least` and `linearizable`).

Decides: which requests are such reads, and which need no proof. Must not know: where the image comes from.
"""

from __future__ import annotations

from typing import Final

from metadata_log.image import MetadataImage
from quorum.controller.config import ControllerConfig
from quorum.controller.context import RequestContext
from quorum.controller.handlers.describe_topics import handle_describe_topics
from quorum.controller.requests import (
    AlterPartition,
    BrokerHeartbeat,
    DescribeTopics,
    RegisterBroker,
    RegisterController,
)
from quorum.controller.turn import SoftState, Turn

READS: Final = (DescribeTopics,)

PROVE_NOTHING: Final = (RegisterBroker, BrokerHeartbeat, AlterPartition, RegisterController)
"""Requests of brokers and controllers: they come all the time, and what they are told is fenced by epochs of its own.
Any other answer that wrote nothing tells how things are, and is given only by who has proven that it still leads."""


class ImageReader:
    """Answers reads; holds nothing of the controller's soft state, which a standby does not have."""

    def __init__(self, config: ControllerConfig) -> None:
        self._config = config
        self._state = SoftState(config, MetadataImage.empty())

    def read(self, request: DescribeTopics, context: RequestContext, image: MetadataImage, now_ms: int) -> object:
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
        return handle_describe_topics(request, turn).response
