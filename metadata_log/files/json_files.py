"""JSON from files that may be corrupt.

Decides: every fault of such a file is one error class. msgspec has others for invalid UTF-8 and for too deep nesting.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

_T = TypeVar("_T")


def decode_json(data: bytes, kind: type[_T]) -> _T:
    """Return the value that the bytes encode.

    Raises:
        msgspec.DecodeError: the bytes are not JSON of this type.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except UnicodeDecodeError as error:
        raise msgspec.DecodeError("a string in it is no text") from error
    except RecursionError as error:
        raise msgspec.DecodeError("what is in it is nested too deep") from error
