"""The first module of the one file: Python begins here, with the file's own path as the first word.

`FILE -m MODULE` runs a module as Python does: `kraft dev` starts its nodes by `sys.executable -m`.
"""

from __future__ import annotations

import os
import runpy
import sys
from typing import Final

_MODULES: Final = ("quorum.cli.demo.child", "quorum.cli.main")
"""The modules that the product starts in processes; no other runs."""


def run() -> None:
    """Be `kraft`, or a process of it."""
    one_file, *words = sys.argv[1:]
    sys.path.append(os.path.join(os.path.dirname(__file__), "packages"))
    sys.executable = one_file
    sys.frozen = True  # type: ignore[attr-defined]  # as other makers of executables do
    if len(words) > 1 and words[0] == "-m" and words[1] in _MODULES:
        sys.argv = [one_file, *words[2:]]
        runpy.run_module(words[1], run_name="__main__")
        return
    sys.argv = [one_file, *words]
    from quorum.cli.main import main  # noqa: PLC0415  (not before `sys` is as the product shall see it)

    main()


run()
