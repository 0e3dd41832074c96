"""Makes the Python stubs of `proto/kraft/v1/*.proto`, which are checked in below `kraft/v1` and never edited.

    python proto/generate.py            writes them
    python proto/generate.py --check    compares, writes nothing, exit status 1 when they are stale

Decides: how the compiler is called. Needs the development packages (grpcio-tools, mypy-protobuf).
"""

from __future__ import annotations

import sys
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Final

from grpc_tools import protoc

ROOT: Final = Path(__file__).resolve().parent
CHECKOUT: Final = ROOT.parent
PACKAGE: Final = "kraft/v1"
_PLUGINS: Final = ("mypy", "mypy_grpc")


class CompilerError(Exception):
    """The protocol compiler refused the sources; what it said went to standard error."""


def sources() -> list[str]:
    """The .proto files, relative to this directory, in order."""
    return sorted(str(path.relative_to(ROOT)) for path in (ROOT / PACKAGE).glob("*.proto"))


def compile_to(directory: Path) -> None:
    """Write the stubs of every source under `directory`.

    Raises:
        CompilerError: a source is wrong, or a plugin is missing.
    """
    binaries = Path(sys.executable).parent
    arguments = [
        "protoc",
        f"--proto_path={ROOT}",
        f"--proto_path={files('grpc_tools') / '_proto'}",
        *(f"--plugin=protoc-gen-{name}={binaries / f'protoc-gen-{name}'}" for name in _PLUGINS),
        f"--python_out={directory}",
        f"--grpc_python_out={directory}",
        *(f"--{name}_out=quiet:{directory}" for name in _PLUGINS),
        *sources(),
    ]
    if protoc.main(arguments) != 0:
        raise CompilerError("the protocol compiler refused proto/kraft/v1")
    for stub in (directory / PACKAGE).glob("*_grpc.py*"):
        if "service " not in (ROOT / PACKAGE / f"{stub.name.partition('_pb2')[0]}.proto").read_text(encoding="utf-8"):
            stub.unlink()


def generated(directory: Path) -> dict[str, bytes]:
    """Name and content of every stub under `directory`."""
    return {path.name: path.read_bytes() for path in (directory / PACKAGE).glob("*_pb2*.py*")}


def stale() -> list[str]:
    """Names of stubs that are missing, left over, or differ from what the sources give."""
    with tempfile.TemporaryDirectory() as scratch:
        compile_to(Path(scratch))
        fresh, present = generated(Path(scratch)), generated(CHECKOUT)
    return sorted(name for name in fresh.keys() | present.keys() if fresh.get(name) != present.get(name))


def main(arguments: list[str]) -> int:
    """The command line; returns the exit status."""
    if arguments not in ([], ["--check"]):
        print("usage: python proto/generate.py [--check]", file=sys.stderr)
        return 2
    if not arguments:
        for name in generated(CHECKOUT):
            (CHECKOUT / PACKAGE / name).unlink()
        compile_to(CHECKOUT)
        return 0
    if found := stale():
        print(f"stale stubs: {', '.join(found)}: run `make fix`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
