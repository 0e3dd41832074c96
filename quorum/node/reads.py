"""Reads that any replica answers from its published image, active controller or not (DESIGN 15, `at_least`).

Decides: which requests are such reads. Must not know: where the image comes from.
"""

from __future__ import annotations

from typing import Final

from metadata_log.image import MetadataImage
from quorum.controller.config import ControllerConfig
from quorum.controller.context import RequestContext
from quorum.controller.handlers.describe_topics import handle_describe_topics
from quorum.controller.requests import DescribeTopics
from quorum.controller.turn import SoftState, Turn

READS: Final = (DescribeTopics,)


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
