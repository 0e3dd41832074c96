"""The first module of the one file: Python begins here, with the file's own path as the first word.

`FILE -m MODULE` runs a module as Python does: `kraft dev` starts its nodes by `sys.executable -m`.
"""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from types import ModuleType
from typing import Final

_TREE: Final = os.path.dirname(__file__)

_MODULES: Final = ("quorum.cli.demo.child", "quorum.cli.main")
"""The modules that the product starts in processes; no other runs."""


class _Extensions:
    """A finder of extension modules, which cannot be loaded from a zip file, by their whole names."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return where the extension is, or None if this is not one of them."""
        file = os.path.join(_TREE, "extensions", f"{name}.so")
        return spec_from_file_location(name, file) if os.path.exists(file) else None


def run() -> None:
    """Be `kraft`, or a process of it."""
    one_file, *words = sys.argv[1:]
    sys.path += [os.path.join(_TREE, "packages"), os.path.join(_TREE, "packages.zip")]
    sys.meta_path.append(_Extensions)
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
