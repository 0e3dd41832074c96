"""`python -m tests.support.failing_calls CALLS ERRNO COMMAND...`: `kraft COMMAND...` whose calls fail from SIGUSR2 on.

The kernel itself rejects the calls (seccomp, Linux): this needs no compiler and no root, and replaces no code. CALLS
are names of system calls with commas between them, ERRNO is the name of the error that they then return.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
import struct
import sys
from typing import Final

from quorum.cli.main import main

_NUMBERS: Final = {
    "x86_64": {"fsync": 74, "fdatasync": 75, "pwrite64": 18, "write": 1},
    "aarch64": {"fsync": 82, "fdatasync": 83, "pwrite64": 68, "write": 64},
}
_SECCOMP: Final = {"x86_64": 317, "aarch64": 277}
_PR_SET_NO_NEW_PRIVS: Final = 38
_SET_MODE_FILTER, _ALL_THREADS = 1, 1
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _FAIL_WITH = 0x7FFF_0000, 0x0005_0000


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def fail_from_now_on(calls: list[str], error: int) -> None:
    """Let the kernel reject `calls` with `error` in all threads of this process, permanently."""
    numbers = _NUMBERS[platform.machine()]
    program = _instruction(_LOAD, 0)
    for call in calls:
        program += _instruction(_JUMP_IF_EQUAL, numbers[call], 0, 1) + _instruction(_RETURN, _FAIL_WITH | error)
    program += _instruction(_RETURN, _ALLOW)
    held = ctypes.create_string_buffer(program, len(program))
    what = _Program(len(program) // 8, ctypes.addressof(held))
    libc = ctypes.CDLL(None, use_errno=True)
    number = _SECCOMP[platform.machine()]
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.syscall(
        number, _SET_MODE_FILTER, _ALL_THREADS, ctypes.byref(what)
    ):
        code = ctypes.get_errno()
        raise OSError(code, f"seccomp: {os.strerror(code)}")


def run() -> None:
    """Wait for the signal in a thread, and run `kraft` meanwhile."""
    calls, error = sys.argv[1].split(","), int(getattr(errno, sys.argv[2]))
    signal.signal(signal.SIGUSR2, lambda number, frame: fail_from_now_on(calls, error))
    sys.argv[1:] = sys.argv[3:]
    main()


if __name__ == "__main__":
    run()
