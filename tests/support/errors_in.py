"""The errors in a response of any kind."""

from __future__ import annotations

from typing import Any

import msgspec

from quorum.api.error_codes import Error


def errors_in(response: Any) -> set[Error]:
    """Return all errors of the response and its parts: only NONE if everything was done."""
    if isinstance(response, Error):
        return {response}
    if isinstance(response, tuple):
        return {error for each in response for error in errors_in(each)}
    if not isinstance(response, msgspec.Struct):
        return set()
    return {error for name in response.__struct_fields__ for error in errors_in(getattr(response, name))}
