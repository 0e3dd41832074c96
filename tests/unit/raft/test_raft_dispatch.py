"""The tables of dispatch: each row's handler takes what the row's key names, and no key is missing."""

from collections.abc import Callable
from typing import Final, get_args, get_type_hints

import pytest

from quorum.api.raft_messages import Request, Response
from quorum.raft import dispatch
from quorum.raft.inputs import Input
from quorum.raft.states import EpochState

ROWS: Final = (
    *((key, handler, 1) for key, handler in dispatch._ON_INPUT.items()),
    *((key, handler, 2) for key, handler in dispatch._ON_REQUEST.items()),
    *((response, handler, 3) for (_, response), handler in dispatch._ON_RESPONSE.items()),
    *((key, handler, 1) for key, handler in dispatch._ON_FAILURE.items()),
    *((key, handler, 1) for key, handler in dispatch._ON_ELAPSED.items()),
)
"""The type in a row's key, the row's handler, and the place of the handler's parameter for it."""


@pytest.mark.parametrize(("key", "handler", "place"), ROWS)
def test_a_handler_takes_what_its_row_names(key: type, handler: Callable[..., None], place: int) -> None:
    """The tables are typed with Any there: only this test notices a wrong row."""
    annotation = [*get_type_hints(handler).values()][place]
    assert key in (get_args(annotation) or (annotation,))


def test_no_row_is_missing() -> None:
    assert dispatch._ON_INPUT.keys() == set(get_args(Input))
    assert dispatch._ON_REQUEST.keys() == set(get_args(Request))
    assert dispatch._ON_FAILURE.keys() == dispatch._ON_ELAPSED.keys() == set(get_args(EpochState))
    assert {state for state, _ in dispatch._ON_RESPONSE} == set(get_args(EpochState))


def test_only_known_messages_may_append() -> None:
    assert set(get_args(Request | Response)) >= dispatch._MAY_APPEND


def test_the_inputs_with_a_draw_are_listed() -> None:
    """An input without a draw must not use one: the log of a run could not repeat it."""
    assert set(dispatch._WITH_DRAW) == {kind for kind in get_args(Input) if "draw" in kind.__struct_fields__}
