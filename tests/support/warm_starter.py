"""`python -m tests.support.warm_starter`: a process that has imported what nodes import, and forks each node.

Its standard input is a socket. A request is a JSON object, with the file descriptor of a node's log beside it. The
response to a start is the pid; the response to the pid of an ended process is the exit status.
"""

from __future__ import annotations

import array
import ctypes
import gc
import importlib
import json
import os
import signal
import socket
import sys
from typing import Any, Final

import tests.support.environment  # noqa: F401 (before any import of gRPC)
from quorum.cli.demo import child
from quorum.cli.running import use_one_poller

_OF_NODES: Final = (
    "quorum.cli.app",
    "quorum.cli.agent",
    "quorum.cli.controller",
    "broker_agent.main",
    "quorum.server.main",
    "typer._click.decorators",
    "ctypes.util",
    "encodings.idna",
    "inotify_simple",
)
MOST_BYTES: Final = 1 << 17
"""The size of a request in bytes; the environment is most of it."""
_PR_SET_PDEATHSIG: Final = 1


def serve() -> list[str] | None:
    """Serve requests; return in a child with the words of its node, or None at the end of the requests."""
    requests = socket.socket(fileno=0)
    while True:
        data, ancillary, _, _ = requests.recvmsg(MOST_BYTES, socket.CMSG_SPACE(array.array("i").itemsize))
        if not data:
            return None
        request = json.loads(data)
        if "pid" in request:
            _, status = os.waitpid(request["pid"], 0)
            requests.send(str(os.waitstatus_to_exitcode(status)).encode())
            continue
        log = int.from_bytes(ancillary[0][2][: array.array("i").itemsize], sys.byteorder)
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            requests.detach()
            _become(request, log)
            return [str(parent), *request["words"]]
        os.close(log)
        requests.send(str(pid).encode())


def _become(request: dict[str, Any], log: int) -> None:
    """Set what each started process has: session, standard streams, directory, environment."""
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nowhere, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.close(nowhere)
    os.close(log)
    os.chdir(request["directory"])
    os.environ.clear()
    os.environ.update(request["environment"])


def _run() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    use_one_poller()
    for module in _OF_NODES:
        importlib.import_module(module)
    from quorum.server.kafka.apis import load_newest  # noqa: PLC0415  (gRPC's settings come before it)

    load_newest()
    gc.collect()
    gc.freeze()
    words = serve()
    if words is not None:
        sys.argv[1:] = words
        child.run()


if __name__ == "__main__":
    _run()
