"""Private namespaces: mounts and networks that the kernel removes once the last process in them has ended.

Decides: what the machine must have for that, and reports all that is missing. A suite that cannot run fails: it never
passes without running.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.chaos import checker
from tests.chaos.cluster import faketime_library

_INSIDE: Final = "KRAFT_CHAOS_INSIDE"
_COMMANDS: Final = {
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "ip": "iproute2",
    "mkfs.ext4": "e2fsprogs",
    "e2fsck": "e2fsprogs",
    "go": "golang-go",
}
_PRIVATE: Final = ("/run/netns", "/dev/shm")
"""Directories whose files no other process must see, even if these processes are killed."""


class CannotEnterError(RuntimeError):
    """The machine lacks something; with the way to get it."""


def check_possible() -> None:
    """Raise CannotEnterError if this machine cannot make real faults."""
    packages = {package for command, package in _COMMANDS.items() if shutil.which(command) is None}
    if faketime_library() is None:
        packages.add("libfaketime")
    missing = [f"packages: apt-get install {' '.join(sorted(packages))}"] if packages else []
    if os.geteuid() != 0:
        missing.append("the rights: namespaces, mounts and loop devices need root")
    if not Path("/dev/net/tun").exists():
        missing.append("/dev/net/tun, through which the relay gets its packets: a kernel with CONFIG_TUN")
    if missing:
        raise CannotEnterError("real faults cannot be made here. Missing: " + "; ".join(missing))


def command(words: Sequence[str]) -> list[str]:
    """Return the command that runs `python words` in private namespaces.

    It builds the checker first: Go may have to fetch Porcupine, and inside there is no network.
    """
    check_possible()
    try:
        checker.build()
    except checker.CannotBuildError as error:
        raise CannotEnterError(f"the checker of histories cannot be built here: {error}") from error
    return ["unshare", "--mount", "--net", "--propagation", "private", sys.executable, *words]


def is_inside() -> bool:
    """Return True if this process was started by `command`."""
    return os.environ.get(_INSIDE) == "1"


def environment() -> dict[str, str]:
    """Return the environment for `command`."""
    return {**os.environ, _INSIDE: "1"}


def prepare() -> None:
    """Prepare the namespaces; the first call inside."""
    for place in _PRIVATE:
        Path(place).mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", place], check=True)
