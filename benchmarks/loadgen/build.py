"""Builds the load generator: Go's stubs from the project's .proto files, then the program, all below `build/`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
_PLUGINS: Final = (
    "google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.5",
    "google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.5.1",
)
_PROTOS: Final = ("common", "access", "admin", "controller")
"""What the load generator speaks, with all that it imports."""


class CannotBuildError(RuntimeError):
    """The load generator cannot be built here; the message says what is missing."""


def build() -> Path:
    """The program, built where it is absent or older than its sources.

    Raises:
        CannotBuildError: without Go, or when it does not build.
    """
    work = ROOT / "build" / "loadgen"
    program = work / "loadgen"
    sources = [*Path(__file__).parent.glob("*.go"), Path(__file__).parent / "go.mod", *proto_files()]
    if program.exists() and program.stat().st_mtime > max(source.stat().st_mtime for source in sources):
        return program
    if shutil.which("go") is None:
        raise CannotBuildError("the load generator is written in Go: install it (on Debian, apt-get install golang-go)")
    (work / "kraftv1").mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "GOBIN": str(work / "bin"), "GOFLAGS": "-mod=mod"}
    for plugin in _PLUGINS:
        _run(["go", "install", plugin], work, environment)
    for source in (*Path(__file__).parent.glob("*.go"), Path(__file__).parent / "go.mod"):
        shutil.copy(source, work)
    mapped = [f"--{kind}_opt=Mkraft/v1/{name}.proto=loadgen/kraftv1" for kind in ("go", "go-grpc") for name in _PROTOS]
    _run(
        [
            sys.executable, "-m", "grpc_tools.protoc", f"-I{ROOT / 'proto'}", "--go_out=.", "--go-grpc_out=.",
            f"--plugin=protoc-gen-go={work / 'bin' / 'protoc-gen-go'}",
            f"--plugin=protoc-gen-go-grpc={work / 'bin' / 'protoc-gen-go-grpc'}",
            "--go_opt=module=loadgen", "--go-grpc_opt=module=loadgen", *mapped, *map(str, proto_files()),
        ],
        work, environment,
    )  # fmt: skip
    _run(["go", "build", "-o", str(program), "."], work, environment)
    return program


def proto_files() -> list[Path]:
    """The .proto files that Go's stubs are made from."""
    return [ROOT / "proto" / "kraft" / "v1" / f"{name}.proto" for name in _PROTOS]


def _run(command: list[str], directory: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CannotBuildError(f"{' '.join(command[:3])} failed:\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    print(build())
