"""The one file of `make onefile`, in a root directory with no other program: no Python, no C library, no shell.

/proc and /tmp are there, and /dev/urandom, which gRPC reads.

The build installs the product's packages from the index. Namespaces need root, as other suites of the campaign do.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from quorum.cli.demo.cluster import LOOPBACK, free_ports, wait_until
from quorum.cli.dev.place import PORTS
from tests.support.containerfile import data_directory_command
from tests.support.port_rows import free_row

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(1200)]

ROOT = Path(__file__).parents[2]
FIXTURE = ROOT / "tests" / "fixtures" / "basic"
_ENTER = """
mount -t proc proc "$0/proc" && mount --bind /dev/urandom "$0/dev/urandom" && user=$1 && shift &&
exec chroot --userspec="$user" --groups= "$0" "$@"
"""


class OneFile:
    """The built executable, and an empty root with it."""

    def __init__(self, path: Path, root: Path) -> None:
        self.path = path
        self.root = root

    def start(
        self, *words: str, user: str = "0:0", environment: Mapping[str, str] | None = None, **options: Any
    ) -> subprocess.Popen[str]:
        """Start it in the empty root as a user UID:GID; the process that is returned becomes it."""
        return subprocess.Popen(
            ["unshare", "--mount", "/bin/sh", "-c", _ENTER, str(self.root), user, "/kraft", *words],
            env={"HOME": "/", "PATH": os.environ["PATH"], **(environment or {})}, text=True, **options,
        )  # fmt: skip

    def ask(self, *words: str, text: str = "", **options: Any) -> tuple[int, str, str]:
        """Run it in the empty root, and return its status, standard output and standard error."""
        pipe = subprocess.PIPE
        process = self.start(*words, stdin=pipe, stdout=pipe, stderr=pipe, **options)
        output, errors = process.communicate(text)
        return process.returncode, output, errors

    def run(self, *words: str, text: str = "", **options: Any) -> str:
        """Run it in the empty root without an error, and return its standard output."""
        status, output, errors = self.ask(*words, text=text, **options)
        assert (status, errors) == (0, ""), (words, output)
        return output


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The executable, built once."""
    place = tmp_path_factory.mktemp("built")
    words = ["--output", place / "output", "--work", place / "work"]
    subprocess.run([sys.executable, ROOT / "deploy" / "onefile" / "build.py", *words], check=True)
    shutil.rmtree(place / "work")
    (path,) = (place / "output").glob(f"kraft-*-linux-{platform.machine()}")
    return path


@pytest.fixture(scope="module")
def one_file(built: Path, tmp_path_factory: pytest.TempPathFactory) -> OneFile:
    root = tmp_path_factory.mktemp("root")
    for name in ("dev", "proc", "tmp"):
        (root / name).mkdir()
    (root / "dev" / "urandom").touch()
    root.chmod(0o755)
    (root / "tmp").chmod(0o1777)
    shutil.copy2(built, root / "kraft")
    return OneFile(built, root)


@pytest.fixture
def fixture_inside(one_file: OneFile) -> Iterator[str]:
    """A cluster's directories of real Kafka, below the root's /tmp."""
    target = one_file.root / "tmp" / "basic"
    shutil.copytree(FIXTURE, target)
    yield "/tmp/basic"
    shutil.rmtree(target)


def test_the_first_start_unpacks_and_a_second_one_need_not(one_file: OneFile) -> None:
    cache = one_file.root / "tmp" / "first"
    cache.mkdir(mode=0o700)
    environment = {"KRAFT_CACHE_DIR": "/tmp/first"}
    assert one_file.run("--help", environment=environment).startswith("Usage: kraft")
    (unpacked,) = cache.glob("kraft-quorum/*")
    assert unpacked.parent.stat().st_mode & 0o777 == 0o700
    changed = unpacked.stat().st_ctime_ns
    assert one_file.run("--version", environment=environment).startswith("kraft ")
    assert [(each.name, each.stat().st_ctime_ns) for each in unpacked.parent.iterdir()] == [(unpacked.name, changed)]
    shutil.rmtree(cache)


def test_a_file_that_a_cleaner_removed_is_unpacked_again(one_file: OneFile) -> None:
    one_file.run("--version")
    (unpacked,) = (one_file.root / "tmp").glob("kraft-quorum-0/*")
    (unpacked / "entry.pyc").unlink()
    assert one_file.run("--version").startswith("kraft ")
    assert [each.name for each in unpacked.parent.iterdir()] == [unpacked.name]


def test_a_cache_that_another_user_could_have_written_is_not_used(one_file: OneFile) -> None:
    """Here in the only place that there is: it says so, and names the way out."""
    one_file.run("--version")
    (cache,) = (one_file.root / "tmp").glob("kraft-quorum-0")
    other = one_file.root / "tmp" / "other"
    other.mkdir(mode=0o700)
    try:
        for change, back in (
            (lambda: os.chown(cache, 12345, -1), lambda: os.chown(cache, 0, -1)),
            (lambda: cache.chmod(0o777), lambda: cache.chmod(0o700)),
        ):
            change()
            status, output, errors = one_file.ask("--version")
            back()
            assert (status, output) == (2, "")
            assert "another user owns it or can write there" in errors
            assert "KRAFT_CACHE_DIR" in errors
        cache.rename(cache.with_name("aside"))
        cache.symlink_to("other")
        assert one_file.ask("--version")[:2] == (2, "")
        assert list(other.iterdir()) == []
    finally:
        if cache.is_symlink():
            cache.unlink()
            cache.with_name("aside").rename(cache)
        other.rmdir()
    assert one_file.run("--version").startswith("kraft ")


def test_a_file_that_is_cut_or_changed_is_refused(built: Path, tmp_path: Path) -> None:
    whole = built.read_bytes()
    middle = len(whole) // 2
    for name, content in {
        "cut": whole[:-1],
        "changed": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
    }.items():
        path = tmp_path / name
        path.write_bytes(content)
        path.chmod(0o755)
        cache = tmp_path / f"{name}-cache"
        cache.mkdir()
        done = subprocess.run(
            [path, "--version"], env={"KRAFT_CACHE_DIR": str(cache)}, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout) == (2, "")
        assert "is not whole: compare its sha256" in done.stderr
        assert list(cache.glob("kraft-quorum/*")) == []


def test_the_toolkit_reads_real_logs(one_file: OneFile, fixture_inside: str) -> None:
    nodes = [f"{fixture_inside}/node-{number}" for number in (1, 2, 3)]
    assert "Nothing is wrong with 3 nodes" in one_file.run("check", fixture_inside)
    log = next(FIXTURE.glob("node-1/**/00000000000000000000.log")).relative_to(FIXTURE)
    records = json.loads(one_file.run("log", "dump", f"{fixture_inside}/{log}", "-o", "json"))["records"]
    assert len(records) > 10
    assert "topics" in one_file.run("shell", nodes[0], text="ls /\n").split()
    assert "NodeId" in one_file.run("recover", "inspect", *nodes)


def test_a_reader_that_leaves_early_is_no_error(one_file: OneFile, fixture_inside: str) -> None:
    """Here without /dev/null, into which the rest of the output would go."""
    reader, writer = os.pipe()
    os.close(reader)
    with one_file.start(
        "log", "dump", f"{fixture_inside}/node-1", "-o", "json", stdout=writer, stderr=subprocess.PIPE
    ) as process:
        os.close(writer)
        _, errors = process.communicate()
    assert (process.returncode, errors) == (141, "")


def test_its_pages_can_be_read(one_file: OneFile) -> None:
    assert "cloned-volume" in one_file.run("docs")
    assert one_file.run("docs", "runbooks/cloned-volume").startswith("# ")


def test_without_spark_one_sentence_says_so(one_file: OneFile, fixture_inside: str) -> None:
    status, output, errors = one_file.ask("analyze", fixture_inside)
    assert (status, output) == (2, "")
    assert "this executable cannot load it" in errors


def test_a_controller_listens_and_stops(one_file: OneFile) -> None:
    grpc = _write_config(one_file, "/tmp/data")
    config = ("--config", "/tmp/node.properties")
    one_file.run("storage", "format", *config, "--cluster-id", "dG9kYXkgaXQgcmFpbnMgYQ", "--standalone")
    _run_controller(one_file, grpc)


def _write_config(one_file: OneFile, log_dir: str) -> int:
    """Write /tmp/node.properties of a lone controller; return its GRPC port."""
    controller, grpc = free_ports(2)
    (one_file.root / "tmp" / "node.properties").write_text(
        f"process.roles=controller\nnode.id=1\nlog.dirs={log_dir}\ncontroller.listener.names=CONTROLLER,GRPC\n"
        f"listeners=CONTROLLER://{LOOPBACK}:{controller},GRPC://{LOOPBACK}:{grpc}\n"
        "listener.security.protocol.map=CONTROLLER:PLAINTEXT,GRPC:PLAINTEXT\n"
        f"controller.quorum.bootstrap.servers={LOOPBACK}:{grpc}\n"
    )
    return grpc


def _run_controller(one_file: OneFile, grpc: int, **options: Any) -> None:
    """Start the controller, wait until it leads, and stop it."""
    log_file = one_file.root / "tmp" / "node.log"
    with log_file.open("w") as log:
        process = one_file.start(
            "controller", "start", "--config", "/tmp/node.properties", stdout=log, stderr=log, **options
        )
    with process:
        try:
            wait_until("the controller to lead", lambda: process.poll() is not None or _leader(one_file, grpc) == 1)
            process.terminate()
            assert process.wait(60) == 0, log_file.read_text()
        finally:
            process.kill()


def test_a_uid_without_a_name_runs_a_node_in_the_directory_of_the_container_image(one_file: OneFile) -> None:
    """The image's own command makes the directory here. Group 0 and HOME are as in the image."""
    library = one_file.root / "var" / "lib"
    library.mkdir(parents=True)
    make = f'mount --bind "$0" /var/lib && {data_directory_command()}'
    subprocess.run(["unshare", "--mount", "/bin/sh", "-c", make, library], check=True)
    grpc = _write_config(one_file, "/var/lib/kraft/data")
    config = ("--config", "/tmp/node.properties")
    inside = {"user": "54321:0", "environment": {"HOME": "/var/lib/kraft"}}
    one_file.run("storage", "format", *config, "--cluster-id", "dG9kYXkgaXQgcmFpbnMgYQ", "--standalone", **inside)
    _run_controller(one_file, grpc, **inside)
    assert (library / "kraft" / "data").stat().st_uid == 54321


def _leader(one_file: OneFile, port: int) -> int | None:
    words = ("quorum", "describe", "--bootstrap-controller", f"{LOOPBACK}:{port}", "-o", "json")
    status, output, _ = one_file.ask(*words)
    return json.loads(output)["status"]["leader_id"] if status == 0 else None


def _start_dev(one_file: OneFile, directory: Path, port: int, environment: Mapping[str, str]) -> subprocess.Popen[str]:
    words = ("dev", "--dir", str(directory), "--port", str(port))
    return subprocess.Popen([one_file.path, *words], stdout=subprocess.PIPE, text=True, env=environment)


def test_kraft_dev_starts_its_nodes_from_the_file(one_file: OneFile, tmp_path: Path) -> None:
    """Outside of the empty root, which has no /dev/null."""
    cache = tmp_path / "cache"
    cache.mkdir()
    environment = {"KRAFT_CACHE_DIR": str(cache)}
    with free_row(PORTS) as first, _start_dev(one_file, tmp_path / "dev", first, environment) as dev:
        assert dev.stdout is not None
        try:
            said = ""
            while "goes on with this cluster" not in said:
                line = dev.stdout.readline()
                assert line, said
                said += line
            for command in re.findall(r"^  (/.*)$", said, re.MULTILINE):
                assert shlex.split(command)[0] == str(one_file.path)
                subprocess.run(shlex.split(command), env=environment, check=True, stdout=subprocess.DEVNULL)
            children = Path(f"/proc/{dev.pid}/task/{dev.pid}/children").read_text().split()
            assert len(children) == 5
            dev.send_signal(signal.SIGINT)
            assert dev.wait(60) == 0
            wait_until("its nodes to be gone", lambda: not any(Path(f"/proc/{pid}").exists() for pid in children))
        finally:
            with contextlib.suppress(ProcessLookupError):
                dev.kill()


def test_the_checksum_is_that_of_the_file(built: Path) -> None:
    (line,) = built.with_name(f"{built.name}.sha256").read_text().splitlines()
    assert line == f"{hashlib.sha256(built.read_bytes()).hexdigest()}  {built.name}"


def test_the_sbom_names_every_part(one_file: OneFile) -> None:
    one_file.run("--version")
    (unpacked,) = (one_file.root / "tmp").glob("kraft-quorum-0/*")
    bom = json.loads(one_file.path.with_name(f"{one_file.path.name}.cdx.json").read_text())
    assert (bom["bomFormat"], bom["specVersion"]) == ("CycloneDX", "1.5")
    assert (
        bom["metadata"]["component"]["hashes"][0]["content"] == hashlib.sha256(one_file.path.read_bytes()).hexdigest()
    )
    references = [each["bom-ref"] for each in bom["components"]]
    assert len(set(references)) == len(references)
    assert all(each["licenses"] for each in bom["components"] if each["bom-ref"].startswith("pkg:"))
    named = {each["name"].lower().replace("-", "_").replace(".", "_") for each in bom["components"]}
    with zipfile.ZipFile(unpacked / "packages.zip") as packages:
        folders = {name.partition("/")[0] for name in packages.namelist()}
    installed = {name.partition("-")[0].lower() for name in folders if name.endswith(".dist-info")}
    assert installed
    assert installed <= named
    libraries = {path.name.lower().replace("-", "_").replace(".", "_") for path in (unpacked / "lib").glob("*.so*")}
    assert libraries
    assert libraries <= named
