"""Tells systemd (`Type=notify`) how the service does; does nothing where nobody asked for it."""

from __future__ import annotations

import os
import socket

READY = "READY=1"
STOPPING = "STOPPING=1"


def notify(state: str) -> None:
    """Send one state to the socket that NOTIFY_SOCKET names (sd_notify(3)); `@` stands for an abstract one.

    Raises:
        OSError: the socket is named, but nobody takes it: the unit is wrong.
    """
    path = os.environ.get("NOTIFY_SOCKET")
    if not path:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.sendto(state.encode(), f"\0{path[1:]}" if path.startswith("@") else path)
