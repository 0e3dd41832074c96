"""The removal of expired delegation tokens (KIP-48), some each turn. `periodic_tasks` decides when."""

from __future__ import annotations

from typing import Final

from metadata_log.records import RemoveDelegationTokenRecord
from quorum.controller.tokens import is_expired
from quorum.controller.turn import Turn

_REMOVED_A_TURN: Final = 1_000


def continue_token_sweep(turn: Turn) -> list[RemoveDelegationTokenRecord]:
    """Return one turn's records that remove expired tokens."""
    if not turn.state.has_to_remove_tokens:
        return []
    tokens = turn.image.delegation_tokens.by_id
    expired = sorted(token_id for token_id, token in tokens.items() if is_expired(token, turn.wall_ms))
    turn.state.has_to_remove_tokens = len(expired) > _REMOVED_A_TURN
    return [RemoveDelegationTokenRecord(token_id=token_id) for token_id in expired[:_REMOVED_A_TURN]]
