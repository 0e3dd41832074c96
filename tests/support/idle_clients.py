"""Many clients in a process of their own: each connects, asks once, and stays. `python -m tests.support.idle_clients`.

Says on standard output how many were answered, once for each line that it reads: the first time they connect, then they
ask again on the connections that they have.
"""

from __future__ import annotations

import resource
import socket
import sys

from tests.support.kafka_requests import api_versions
from tests.support.kafka_wire import request_bytes, written

_WAIT_S = 60.0


def main(host: str, port: int, count: int) -> None:
    """Until standard input ends."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    asked = request_bytes(18, 3, written(api_versions(3)))
    clients: list[socket.socket] = []
    for _ in sys.stdin:
        while len(clients) < count:
            clients.append(socket.create_connection((host, port), timeout=_WAIT_S))
        for client in clients:
            client.sendall(asked)
        print(sum(_is_answered(client) for client in clients), flush=True)


def _is_answered(client: socket.socket) -> bool:
    size = _read(client, 4)
    return len(size) == 4 and len(_read(client, int.from_bytes(size, "big"))) == int.from_bytes(size, "big")


def _read(client: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size and (more := client.recv(size - len(data))):
        data += more
    return data


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
