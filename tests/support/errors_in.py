"""The errors that an answer holds, whatever it is an answer to."""

from __future__ import annotations

from typing import Any

import msgspec

from quorum.api.error_codes import Error


def errors_in(response: Any) -> set[Error]:
    """All of them, of the whole and of its parts: NONE alone where all that was asked is done."""
    if isinstance(response, Error):
        return {response}
    if isinstance(response, tuple):
        return {error for each in response for error in errors_in(each)}
    if not isinstance(response, msgspec.Struct):
        return set()
    return {error for name in response.__struct_fields__ for error in errors_in(getattr(response, name))}
