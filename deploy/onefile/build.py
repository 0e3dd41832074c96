"""`make onefile`: build one executable for Linux that needs neither Python nor a C library of the host.

Decides: which files go in, how they are found later (the index and trailer that `launcher.c` reads), and what is
written beside the executable: its sha256, and an SBOM of all that it holds. Nothing is written in the checkout before
all three are whole, so that several builds can run at once.
"""

from __future__ import annotations

import argparse
import compileall
import fcntl
import hashlib
import json
import os
import platform
import py_compile
import re
import shutil
import struct
import subprocess
import sys
import sysconfig
import tempfile
import uuid
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[2]
HERE: Final = Path(__file__).parent
MAGIC: Final = b"KRAFTONE"
KEY_LENGTH: Final = 32

LEFT_OUT: Final = (
    "config-3*", "ensurepip", "idlelib", "lib2to3", "pydoc_data", "site-packages", "test", "tests", "tkinter",
    "turtledemo", "venv", "__pycache__", "*.a",
)  # fmt: skip
"""Names in Python's library that the product has no use for."""
LEFT_OUT_EXTENSIONS: Final = (
    "_ctypes_test", "_curses*", "_dbm", "_gdbm", "_sqlite3", "_test*", "_tkinter", "_xx*", "audioop", "nis",
    "ossaudiodev", "readline", "spwd", "xxlimited*",
)  # fmt: skip
"""Extensions that are left out. GNU's readline and gdbm are under the GPL, which would reach the whole file."""
PRODUCT: Final = ("broker_agent", "kraft", "metadata_log", "pyspark_kraft", "quorum")
"""The product's folders among the packages."""
BUILD_TOOLS: Final = ("pip", "setuptools", "wheel", "pkg_resources", "_distutils_hack")
"""Packages of a new virtual environment that are not part of the product."""


class SystemLibrary(NamedTuple):
    """A shared library of the machine that builds."""

    path: Path
    sha256: str


def main() -> None:
    """Build, and print where everything is."""
    parser = argparse.ArgumentParser(description="Build one executable that needs no Python.")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "onefile")
    parser.add_argument("--work", type=Path, help="Make the temporary files below this directory, and leave them.")
    options = parser.parse_args()
    if sys.platform != "linux":
        sys.exit(f"onefile: builds on Linux only, and this is {sys.platform}")
    for tool, package in (("gcc", "gcc"), ("ldd", "libc-bin"), ("strip", "binutils")):
        if shutil.which(tool) is None:
            sys.exit(f"onefile: {tool} is not there: on Debian, apt-get install {package}")
    if options.work is not None:
        options.work.mkdir(parents=True, exist_ok=True)
        build(Path(tempfile.mkdtemp(prefix="onefile-", dir=options.work)), options.output)
        return
    with tempfile.TemporaryDirectory(prefix="onefile-") as work:
        build(Path(work), options.output)


def build(work: Path, output: Path) -> None:
    """Build in the empty directory `work`, and move the executable and what belongs to it to `output`."""
    site_packages = install(work)
    tree = work / "tree"
    libraries = fill(tree, site_packages)
    launcher = compile_launcher(work)
    version = distributions(site_packages)["kraft-quorum"]["Version"]
    name = f"kraft-{version}-linux-{platform.machine()}"
    made = work / "made"
    made.mkdir()
    pack(launcher, tree, made / name)
    checksum = hashlib.sha256((made / name).read_bytes()).hexdigest()
    (made / f"{name}.sha256").write_text(f"{checksum}  {name}\n")
    bom = sbom(name, version, checksum, site_packages, libraries)
    (made / f"{name}.cdx.json").write_text(json.dumps(bom, indent=2) + "\n")
    move_into(output, [made / name, *sorted(made.glob(f"{name}.*"))])
    target = output / name
    print(f"{target}  {target.stat().st_size / 1e6:.1f} MB, {len(bom['components'])} components in {name}.cdx.json")


def move_into(output: Path, files: list[Path]) -> None:
    """Move files into a directory, which may be on another disk: no reader sees a part of one.

    One build at a time: the checksum there is that of the executable there.
    """
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".onefile-", dir=output) as beside:
        copies = [Path(shutil.copy2(file, beside)) for file in files]
        held = os.open(output, os.O_RDONLY)
        try:
            fcntl.flock(held, fcntl.LOCK_EX)
            for copy in copies:
                copy.replace(output / copy.name)
        finally:
            os.close(held)


def install(work: Path) -> Path:
    """Install the product without extras, from this checkout; return the directory of its packages.

    From a copy: setuptools writes below the sources, where another build may run, and where modules may be left that
    are gone since.
    """
    venv, source = work / "venv", work / "source"
    copy_sources(source)
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    subprocess.run(
        [venv / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile",
         "--constraint", ROOT / "constraints.txt", source],
        check=True,
    )  # fmt: skip
    (packages,) = venv.glob("lib/python3.*/site-packages")
    for tool in BUILD_TOOLS:
        for path in (*packages.glob(tool), *packages.glob(f"{tool}-*.dist-info")):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    return packages


def copy_sources(target: Path) -> None:
    """Copy the files of the checkout that a wheel is built from."""
    target.mkdir()
    for name in (*PRODUCT, "docs"):
        shutil.copytree(ROOT / name, target / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("LICENSE", "MANIFEST.in", "README.md", "pyproject.toml"):
        shutil.copy2(ROOT / name, target)


def fill(tree: Path, site_packages: Path) -> list[SystemLibrary]:
    """Make the tree that the launcher unpacks: Python, its library, the packages, and shared libraries."""
    (tree / "bin").mkdir(parents=True)
    interpreter = Path(os.path.realpath(sys.executable))
    shutil.copy2(interpreter, tree / "bin" / "python3")
    own = sysconfig.get_path("stdlib")
    library = tree / "lib" / Path(own).name
    shutil.copytree(own, library, ignore=shutil.ignore_patterns(*LEFT_OUT))
    packages = tree / "packages"
    shutil.copytree(site_packages, packages, ignore=shutil.ignore_patterns("__pycache__", "*.pyi", "*.pth"))
    for extension in LEFT_OUT_EXTENSIONS:
        for path in library.glob(f"lib-dynload/{extension}.*"):
            path.unlink()
    for sources in (library, packages):
        _compile(sources)
    _gather_modules(tree, library, packages)
    py_compile.compile(
        str(HERE / "entry.py"), str(tree / "entry.pyc"), dfile="entry.py", doraise=True,
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )  # fmt: skip
    binaries = [tree / "bin" / "python3", *tree.rglob("*.so"), *tree.rglob("*.so.*")]
    loader, needed = _needed_by(interpreter, binaries)
    shutil.copy2(loader, tree / "kraft")  # the name that `ps` shows
    for path in needed:
        shutil.copy2(path, tree / "lib" / path.name)
        os.chmod(tree / "lib" / path.name, 0o700)
        binaries.append(tree / "lib" / path.name)
    for path in binaries:
        subprocess.run(["strip", "--strip-unneeded", path], check=True)
    return [SystemLibrary(path, hashlib.sha256(path.read_bytes()).hexdigest()) for path in (loader, *sorted(needed))]


def _gather_modules(tree: Path, library: Path, packages: Path) -> None:
    """Put most modules into two zip files. A first start would spend most of its time on making thousands of files.

    The product's folders stay as they are, since some of its modules read files beside them. An extension cannot be
    loaded from a zip file: it goes into `extensions`, where `entry.py` finds it by its whole name.
    """
    stay = {library / "os.pyc", library / "lib-dynload"}  # Python looks for these to find its library
    _zip([path for path in library.iterdir() if path not in stay], library, library.with_name(_zip_of(library)))
    extensions = tree / "extensions"
    extensions.mkdir()
    others = [path for path in packages.iterdir() if path.name not in PRODUCT]
    for top in others:
        for path in [*top.rglob("*.so")]:
            parts = path.relative_to(packages).with_name(path.name.partition(".")[0]).parts
            path.rename(extensions / f"{'.'.join(parts)}.so")
    _zip(others, packages, tree / "packages.zip")


def _zip_of(library: Path) -> str:
    """Return `python311.zip` for `python3.11`: the name at which Python looks for its library."""
    return f"{library.name.replace('.', '')}.zip"


def _zip(tops: list[Path], root: Path, target: Path) -> None:
    """Move these files and folders into a zip file, uncompressed, with an entry for each folder."""
    with zipfile.ZipFile(target, "w") as file:
        for path in sorted(path for top in tops for path in (top, *top.rglob("*"))):
            name = path.relative_to(root).as_posix()
            if path.is_dir():
                file.writestr(zipfile.ZipInfo(f"{name}/"), b"")
            else:
                file.writestr(zipfile.ZipInfo(name), path.read_bytes())
    for top in tops:
        shutil.rmtree(top) if top.is_dir() else top.unlink()


def _compile(sources: Path) -> None:
    """Put compiled modules in the place of their sources: half as many files to unpack, and none is compiled later."""
    done = compileall.compile_dir(
        sources, quiet=2, legacy=True, force=True, stripdir=str(sources),
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )  # fmt: skip
    if not done:
        sys.exit("onefile: a module could not be compiled")
    for source in sources.rglob("*.py"):
        source.unlink()


def _needed_by(interpreter: Path, binaries: list[Path]) -> tuple[Path, set[Path]]:
    """Return the loader of programs, and the shared libraries of the host that the binaries need."""
    found: dict[str, Path] = {}
    loader = None
    own = {path.name for path in binaries}
    for binary in (interpreter, *binaries):
        told = subprocess.run(["ldd", binary], capture_output=True, text=True, check=False).stdout
        for line in told.splitlines():
            match = re.match(r"\s*(?:(\S+) => )?(/\S+) \(0x", line)
            if match and match[1] is None:
                loader = Path(match[2])
            elif match and match[1] not in own:
                found[match[1]] = Path(match[2])
            elif "not found" in line and line.split()[0] not in own:
                sys.exit(f"onefile: {binary} needs {line.split()[0]}, which is not on this machine")
    if loader is None:
        sys.exit(f"onefile: {interpreter} names no loader: is it linked statically?")
    return loader, set(found.values())


def compile_launcher(work: Path) -> Path:
    """Compile the launcher, which needs no shared library."""
    launcher = work / "launcher"
    done = subprocess.run(["gcc", "-static", "-O2", "-s", "-o", launcher, HERE / "launcher.c", "-lz"], check=False)
    if done.returncode:
        sys.exit("onefile: the launcher did not compile: on Debian, apt-get install gcc libc6-dev zlib1g-dev")
    return launcher


def pack(launcher: Path, tree: Path, target: Path) -> None:
    """Write the executable: the launcher, all bytes of all files compressed, the index, the trailer."""
    compressor = zlib.compressobj(9)
    index, data = [], bytearray()
    for path in sorted(tree.rglob("*")):
        name = path.relative_to(tree).as_posix()
        if path.is_dir():
            index.append(f"d 0 {name}\n")
            continue
        content = path.read_bytes()
        is_program = name in ("kraft", "bin/python3")
        index.append(f"{'700' if is_program else '600'} {len(content)} {name}\n")
        data += compressor.compress(content)
    data += compressor.flush()
    listed = "".join(index).encode()
    key = hashlib.sha256(listed + data).hexdigest()[:KEY_LENGTH].encode()
    first = launcher.read_bytes()
    trailer = struct.pack("=QQQQ", len(first), len(data), len(first) + len(data), len(listed)) + key + MAGIC
    target.write_bytes(first + data + listed + trailer)
    target.chmod(0o755)


def distributions(site_packages: Path) -> dict[str, Any]:
    """Return the metadata of each installed distribution, by its name."""
    from importlib import metadata  # noqa: PLC0415  (slow)

    return {found.metadata["Name"]: found.metadata for found in metadata.distributions(path=[str(site_packages)])}


def sbom(name: str, version: str, checksum: str, site_packages: Path, libraries: list[SystemLibrary]) -> dict[str, Any]:
    """Return the bill of materials, in CycloneDX 1.5: distributions, Python itself, and shared libraries."""
    components = [*_packages(site_packages), _python(), *map(_library, libraries)]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'sha256:{checksum}')}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application", "bom-ref": name, "name": "kraft", "version": version,
                "hashes": [{"alg": "SHA-256", "content": checksum}],
            }
        },
        "components": sorted(components, key=lambda each: (each["type"], each["name"])),
    }  # fmt: skip


def _packages(site_packages: Path) -> Iterator[dict[str, Any]]:
    for name, about in distributions(site_packages).items():
        reference = f"pkg:pypi/{re.sub(r'[-_.]+', '-', name).lower()}@{about['Version']}"
        licence = about["License-Expression"]
        terms = {"expression": licence} if licence else {"license": {"name": _licence_of(about)}}
        yield {
            "type": "library", "bom-ref": reference, "name": name, "version": about["Version"], "purl": reference,
            "licenses": [terms],
        }  # fmt: skip


def _licence_of(about: Any) -> str:
    """Return the licence's name by the metadata's older ways to name it."""
    classified = [each.rpartition(" :: ")[2] for each in about.get_all("Classifier", []) if each.startswith("License")]
    return ", ".join(classified) or (about["License"] or "not declared").splitlines()[0]


def _python() -> dict[str, Any]:
    return {
        "type": "platform", "bom-ref": "python", "name": "CPython", "version": platform.python_version(),
        "licenses": [{"license": {"id": "PSF-2.0"}}],
    }  # fmt: skip


def _library(library: SystemLibrary) -> dict[str, Any]:
    package = _system_package(library.path)
    about: dict[str, Any] = {
        "type": "library", "bom-ref": library.path.name, "name": library.path.name,
        "hashes": [{"alg": "SHA-256", "content": library.sha256}],
    }  # fmt: skip
    if package is not None:
        about["version"] = package[1]
        about["properties"] = [{"name": "system-package", "value": package[0]}]
    return about


def _system_package(path: Path) -> tuple[str, str] | None:
    """Return the name and version of the Debian package that the library came with, or None if there is none."""
    if shutil.which("dpkg-query") is None:
        return None
    names = {str(path), os.path.realpath(path)}
    names |= {f"/usr{name}" for name in names} | {name.removeprefix("/usr") for name in names}  # a merged /usr has both
    for name in sorted(names):
        found = subprocess.run(["dpkg-query", "--search", name], capture_output=True, text=True, check=False)
        package = found.stdout.partition(": ")[0].partition(",")[0]
        if package:
            version = subprocess.run(
                ["dpkg-query", "--show", "-f", "${Version}", package], capture_output=True, text=True, check=True
            ).stdout
            return package.partition(":")[0], version
    return None


if __name__ == "__main__":
    main()
