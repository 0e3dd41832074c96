"""ApiVersions: the APIs of this listener, the features that this software supports, and their finalized levels.

A Kafka broker responds with REBOOTSTRAP_REQUIRED to the id of another cluster or node. Kafka's controllers compare no
id with their own; neither does this listener.

Source: KIP-35, KIP-511, KIP-584 (features), KIP-1022 (features from level 0 only in v4), KIP-1242 (ids in v5).
"""

from __future__ import annotations

import re
from typing import Any, Final

from metadata_log.image import MetadataImage
from metadata_log.image.features import KRAFT_VERSION, METADATA_VERSION
from quorum.api.error_codes import Error
from quorum.node.controller.registration import SUPPORTED_FEATURES
from quorum.server.kafka.exchange import Exchange, Sink
from quorum.server.kafka.offered_versions import OFFERED
from quorum.server.node import Node
from quorum.transport.kafka.wire import API_VERSIONS, Answers, Header, answers_of

_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
_LEVEL_ZERO_FROM: Final = 4
_NAMED_FROM: Final = 3
_IDS_FROM: Final = 5
_NO_NODE: Final = -1


def on_api_versions(exchange: Exchange, node: Node) -> None:
    """Serve ApiVersions."""
    version, body, answers = exchange.header.version, exchange.body, exchange.answers
    if not _is_valid(version, body):
        exchange.send(lambda: answers.response(error_code=Error.INVALID_REQUEST, api_keys=()))
        return
    image, kraft_version = node.image, node.kraft_version
    exchange.send(lambda: _response(answers, version, image, kraft_version))


def _is_valid(version: int, body: Any) -> bool:
    """Return True if the request has both ids or neither, and its software name and version are well-formed."""
    if version >= _IDS_FROM and (body.cluster_id is None) != (body.node_id == _NO_NODE):
        return False
    return version < _NAMED_FROM or all(
        _SOFTWARE.fullmatch(text) for text in (body.client_software_name, body.client_software_version)
    )


def unsupported_version(sink: Sink, header: Header) -> None:
    """Answer an ApiVersions request of an unknown version, in version 0, with the versions that are offered."""
    answers = answers_of("api_versions", 0)
    exchange = Exchange(header=header, body=None, caller=None, answers=answers, sink=sink)  # type: ignore[arg-type]
    exchange.send(
        lambda: answers.response(
            error_code=Error.UNSUPPORTED_VERSION, api_keys=tuple(_keys(answers, only=API_VERSIONS))
        )
    )


def _keys(answers: Answers, only: int | None = None) -> list[Any]:
    return [
        answers.make("ApiVersion", api_key=key, min_version=offered.first, max_version=offered.last)
        for key, offered in sorted(OFFERED.items())
        if only in (None, key)
    ]


def _response(answers: Answers, version: int, image: MetadataImage, kraft_version: int) -> Any:
    finalised = {KRAFT_VERSION: kraft_version} if kraft_version > 0 else {}
    finalised |= dict(image.features.levels.items())
    if image.features.metadata_version is not None:
        finalised[METADATA_VERSION] = image.features.metadata_version
    return answers.response(
        error_code=Error.NONE,
        api_keys=tuple(_keys(answers)),
        supported_features=tuple(
            answers.make(
                "SupportedFeatureKey",
                name=feature.name,
                min_version=feature.min_supported_version,
                max_version=feature.max_supported_version,
            )
            for feature in SUPPORTED_FEATURES
            if version >= _NAMED_FROM and (feature.min_supported_version > 0 or version >= _LEVEL_ZERO_FROM)
        ),
        finalized_features_epoch=image.offset_and_epoch.offset - 1,
        finalized_features=tuple(
            answers.make("FinalizedFeatureKey", name=name, max_version_level=level, min_version_level=level)
            for name, level in sorted(finalised.items())
            if version >= _NAMED_FROM and level > 0
        ),
    )
