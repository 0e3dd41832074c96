"""Reads from the published image: by any replica that has reached their offset, or by the leader after a read barrier.

These are `at_least` and `linearizable` of DESIGN 2.1. Must not know: where the image comes from, and which requests are
reads (`quorum.api.request.Read`).
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from metadata_log.image import MetadataImage
from quorum.api.context import RequestContext
from quorum.api.request import Request, Response
from quorum.controller.config import ControllerConfig
from quorum.controller.request_table import HANDLERS
from quorum.controller.turn import SoftState, Turn

R = TypeVar("R", bound=Response)


class ImageReader:
    """Answers reads, without the controller's soft state, which a standby lacks."""

    def __init__(self, config: ControllerConfig) -> None:
        self._config = config
        self._state = SoftState(config, MetadataImage.empty())

    def use_kraft_version(self, version: int) -> None:
        """Use this finalised `kraft.version`; Raft knows it, the image does not."""
        if version != self._config.kraft_version:
            self._config = msgspec.structs.replace(self._config, kraft_version=version)

    def read(self, request: Request[R], context: RequestContext, image: MetadataImage, now_ms: int) -> R:
        """Return the response to a `Read`, from this image."""
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
        return HANDLERS.handle(request, turn).response


class ReadBarriers:
    """The read barriers of one node, by their tokens, which rise by one with each barrier."""

    def __init__(self) -> None:
        self._asked = 0
        self._passed = 0
        self._is_due = False

    def next_token(self) -> int:
        """Return the token of the next barrier, for which a new read waits. That barrier has not begun yet."""
        self._is_due = True
        return self._asked + 1

    def has_passed(self, token: int) -> bool:
        """Return True once `on_passed` has named that barrier, or a later one."""
        return token <= self._passed

    def take_due(self) -> int | None:
        """Return the token of the barrier to begin now, or None if no read waits for one."""
        if not self._is_due:
            return None
        self._is_due = False
        # A read may use only a barrier that begins after its arrival: an earlier one proves leadership before the read.
        self._asked += 1
        return self._asked

    def on_passed(self, token: int) -> None:
        """Note that this barrier and all before it have passed."""
        self._passed = max(self._passed, token)

    def on_refused(self) -> None:
        """Begin no barrier: this node does not lead."""
        self._is_due = False
