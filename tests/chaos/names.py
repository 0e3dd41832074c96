"""A name server whose responses change: `python -m tests.chaos.names ZONE ADDRESS`.

The file ZONE holds a JSON object of addresses by name, and is read again for each query. Responses may not be cached
(TTL 0). Must not know: which host asks, and why a name moves. Source: RFC 1035.
"""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

PORT: Final = 53
_HEADER: Final = struct.Struct(">HHHHHH")
_ADDRESS, _INTERNET, _QUESTIONS_NAME = 1, 1, 0xC00C
_ANSWER, _NO_SUCH_NAME = 0x8580, 0x8583
_MOST_BYTES: Final = 512


def answer_to(question: bytes, zone: Mapping[str, str]) -> bytes:
    """Return the response to a query for a name's IPv4 address, and an empty one to all others."""
    number, *_ = _HEADER.unpack_from(question)
    name, end = _name_in(question)
    kind, _ = struct.unpack_from(">HH", question, end)
    address = zone.get(name)
    has_answer = address is not None and kind == _ADDRESS
    flags = _NO_SUCH_NAME if address is None else _ANSWER
    answered = _HEADER.pack(number, flags, 1, int(has_answer), 0, 0) + question[_HEADER.size : end + 4]
    if address is None or not has_answer:
        return answered
    return answered + struct.pack(">HHHIH", _QUESTIONS_NAME, _ADDRESS, _INTERNET, 0, 4) + socket.inet_aton(address)


def _name_in(question: bytes) -> tuple[str, int]:
    """Return the first name in a query, and where it ends."""
    labels, at = [], _HEADER.size
    while size := question[at]:
        labels.append(question[at + 1 : at + 1 + size].decode("ascii").lower())
        at += 1 + size
    return ".".join(labels), at + 1


def serve(zone: Path, address: str) -> None:
    """Serve queries until the process is killed."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind((address, PORT))
        print("listening", flush=True)
        while True:
            question, peer = server.recvfrom(_MOST_BYTES)
            server.sendto(answer_to(question, msgspec.json.decode(zone.read_bytes(), type=dict[str, str])), peer)


def write_zone(zone: Path, names: Mapping[str, str]) -> None:
    """Let the server use these addresses from now on."""
    beside = zone.with_suffix(".new")
    beside.write_bytes(msgspec.json.encode(names))
    beside.rename(zone)


def ask_only(address: str, place: Path) -> None:
    """Let all processes in this mount namespace use only this server."""
    place.write_text(f"nameserver {address}\noptions timeout:1 attempts:2\n")
    subprocess.run(["mount", "--bind", str(place), "/etc/resolv.conf"], check=True)


if __name__ == "__main__":
    serve(Path(sys.argv[1]), sys.argv[2])
