"""JSON that was read from a file, which may be damaged anywhere.

Decides: that all that can be wrong with it is one error: msgspec has others for bytes that are no text, and for what is
nested beyond all measure. Must not know: what the files hold.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

_T = TypeVar("_T")


def decode_json(data: bytes, kind: type[_T]) -> _T:
    """What these bytes say.

    Raises:
        msgspec.DecodeError: they are no JSON of such a kind.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except UnicodeDecodeError as error:
        raise msgspec.DecodeError("a string in it is no text") from error
    except RecursionError as error:
        raise msgspec.DecodeError("what is in it is nested too deep") from error
