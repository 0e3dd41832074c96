"""How the address of a node is written.

Decides: what is one. Must not know: whether anybody is there.
"""

from __future__ import annotations

import re
from typing import Final

from quorum.client.errors import AddressError

_ADDRESS: Final = re.compile(r"(\[[0-9A-Fa-f:.%]+\]|[^:/\[\]\s,]+):(\d{1,5})", re.ASCII)


def check_address(text: str) -> str:
    """`text` if it is `host:port`, an IPv6 host in brackets.

    Raises:
        AddressError: it is not.
    """
    if _ADDRESS.fullmatch(text) is None:
        raise AddressError(f"{text!r} is not an address: write host:port (an IPv6 host in brackets)")
    return text
