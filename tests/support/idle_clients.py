"""`python -m tests.support.idle_clients`: many clients in one process that connect, send one request, and stay.

For each line on standard input it prints how many got a response. At the first line they connect; at later lines they
send another request on the same connections.
"""

from __future__ import annotations

import resource
import socket
import sys

from tests.support.kafka_requests import api_versions
from tests.support.kafka_wire import request_bytes, written

_WAIT_S = 60.0


def main(host: str, port: int, count: int) -> None:
    """Serve lines until standard input ends."""
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
