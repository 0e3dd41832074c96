"""Notification of systemd about a start and a stop (`Type=notify`): one datagram to the socket that it names, if any.

Source: sd_notify(3). Decides: how the message is sent. Must not know: when a node is ready.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping

READY = "READY=1"
STOPPING = "STOPPING=1"


def notify(state: str, environment: Mapping[str, str] = os.environ) -> bool:
    """Send `state`; return False if systemd did not request it.

    Raises:
        OSError: systemd requested it, and its socket does not accept it.
    """
    address = environment.get("NOTIFY_SOCKET", "")
    if not address:
        return False
    if address.startswith("@"):  #   # an abstract socket
        address = "\0" + address[1:]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
        sender.connect(address)
        sender.sendall(state.encode())
    return True
