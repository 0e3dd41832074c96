"""How the address of a node is written.

Decides: what is one. Must not know: whether anybody is there.
"""

from __future__ import annotations

import re
from typing import Final

from quorum.client.errors import AddressError

_ADDRESS: Final = re.compile(r"(\[[0-9A-Fa-f:.%]+\]|[^:/\[\]\s,]+):(\d{1,10})", re.ASCII)
_LARGEST_PORT: Final = 65535


def check_address(text: str) -> str:
    """`text` if it is `host:port`, an IPv6 host in brackets.

    Raises:
        AddressError: it is not.
    """
    match = _ADDRESS.fullmatch(text)
    if match is None:
        raise AddressError(f"{text!r} is not an address: write host:port (an IPv6 host in brackets)")
    if not 0 < int(match[2]) <= _LARGEST_PORT:
        raise AddressError(f"{text!r} is not an address: its port is none of 1 to {_LARGEST_PORT}")
    return text
