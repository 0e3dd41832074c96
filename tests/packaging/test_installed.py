"""The wheel and the source distribution, and the wheel in bare virtual environments: all that a user runs first.

All is in one module, so that one worker makes each environment, once.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from quorum import __version__
from quorum.cli.extras import ANALYSIS
from tests.golden.helping import subcommands
from tests.support.distributions import ROOT, Built, Environment, build, install
from tests.support.fixture_files import FIXTURES

pytestmark = pytest.mark.campaign

NODES = [FIXTURES / "basic" / f"node-{number}" / "data" for number in (1, 2, 3)]
LOG = NODES[0]
HELP = [[], *([name, *one] for name, ones in subcommands().items() for one in ([], *map(str.split, ones)))]
ASK_FOR_HELP = """
import contextlib, io, json, sys
from quorum.cli.main import run

said = []
for words in json.loads(sys.argv[1]):
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stdout(out):
        status = run([*words, "--help"])
        out.flush()
    said.append((status, out.buffer.getvalue().decode()))
print(json.dumps(said))
"""
"""A program that prints the status and the output of each `kraft WORDS... --help`."""
NEED_THE_EXTRA = [
    ["analyze", "--report", "verdict.html", *NODES],
    ["demo", "--directory", "demo"],
    ["log", "dump", LOG, "-o", "parquet"],
    ["log", "export", LOG, "exported", "-o", "parquet"],
    ["log", "timeline", LOG, "--picture", "picture.png"],
]

USER_PROGRAM = '''"""A user's program, for mypy --strict."""

from __future__ import annotations

import asyncio
from typing import assert_type

import kraft
from kraft.v1 import quorum_pb2
from kraft import SyncClient, TopicId, TopicIdPartition


def read(path: str) -> list[str]:
    image = kraft.image_at(path)
    assert_type(image, kraft.MetadataImage)
    assert_type(kraft.check(path), kraft.CheckReport)
    assert_type(kraft.timeline(path).events, tuple[kraft.Event, ...])
    return [topic.name for topic in image.topics.by_id.values()]


def wait(address: str) -> tuple[TopicIdPartition, ...]:
    with SyncClient(address, timeout_s=5.0) as client:
        created = client.create_topic("orders", num_partitions=3)
        assert_type(created.topic_id, TopicId)
        assert_type(client.list_topics(), dict[str, TopicId])
        assert_type(client.describe_quorum(), kraft.QuorumStatus)
        (topic,) = client.describe_topics(topic_ids=[created.topic_id])
        return TopicIdPartition.of_topic(topic)


async def main(address: str) -> None:
    async with kraft.Admin(address) as admin:
        result = await admin.create_topics([kraft.CreatableTopic(name="t", num_partitions=1, replication_factor=1)])
        assert_type(result.topic_id("t"), TopicId)


asyncio.run(main("localhost:9094"))
print(quorum_pb2.DescribeQuorumRequest(), str(kraft.parse_topic_id("AAAAAAAAAAAAAAAAAAAAAQ")))
'''
MISTAKES = """import kraft

kraft.SyncClient(5)
kraft.SyncClient("a:1").create_topic("orders", partitions=3)
kraft.no_such_name
kraft.image_at("/log").no_such_field
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(tmp_path_factory.mktemp("distributions"))


@pytest.fixture(scope="module")
def bare(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    directory = tmp_path_factory.mktemp("bare") / "venv"
    yield install(built.wheel, directory)
    shutil.rmtree(directory)


@pytest.fixture(scope="module")
def with_analysis(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    directory = tmp_path_factory.mktemp("analysis") / "venv"
    yield install(built.wheel, directory, ANALYSIS)
    shutil.rmtree(directory)


def _members(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def _tracked(folder: str) -> set[str]:
    """Return the files of a folder that git knows or would add."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", folder]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return {name for name in names.split("\0") if name and (ROOT / name).is_file()}


def test_the_wheel_of_the_source_distribution_is_that_of_the_checkout(built: Built) -> None:
    assert _members(built.wheel) == _members(built.checkout_wheel)
    assert built.wheel.name == f"kraft_quorum-{__version__}-py3-none-any.whl"


def test_the_wheel_holds_every_module_and_what_they_read(built: Built) -> None:
    members = _members(built.wheel)
    tops = ("kraft", "quorum", "metadata_log", "broker_agent", "pyspark_kraft")
    wanted = {name for top in tops for name in _tracked(top) if not name.endswith(".md")}
    assert wanted - members == set()
    assert {f"{top}/py.typed" for top in tops} <= members
    assert any(name.endswith(".css") for name in members)
    assert {name.partition("/")[0] for name in members} == {*tops, f"kraft_quorum-{__version__}.dist-info"}


def test_the_wheel_says_what_it_is(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as archive:
        text = archive.read(f"kraft_quorum-{__version__}.dist-info/METADATA").decode()
        scripts = archive.read(f"kraft_quorum-{__version__}.dist-info/entry_points.txt").decode()
        names = archive.namelist()
    assert "License-Expression: Apache-2.0" in text
    assert "Requires-Python: >=3.11" in text
    assert "Classifier: Typing :: Typed" in text
    assert re.search(r"^Keywords: kafka,", text, re.MULTILINE)
    assert "kraft-quorum = quorum.cli.main:main" in scripts
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_source_distribution_holds_documents_and_tests(built: Built) -> None:
    with tarfile.open(built.sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {"CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "constraints.txt"}
    wanted |= {name for folder in ("docs", "tests", "proto", "deploy", "benchmarks") for name in _tracked(folder)}
    assert wanted - names == set()


def test_help(bare: Environment, tmp_path: Path) -> None:
    done = bare.run("--help", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: kraft")


def test_help_of_every_command(bare: Environment, tmp_path: Path) -> None:
    """Ask in one process: each module is imported when its command is the one called."""
    done = bare.run("-c", ASK_FOR_HELP, json.dumps(HELP), cwd=tmp_path, program="python")
    assert (done.returncode, done.stderr) == (0, "")
    said = [tuple(each) for each in json.loads(done.stdout)]
    assert [status for status, _ in said] == [0] * len(HELP)
    for words, (_, text) in zip(HELP, said, strict=True):
        assert text.startswith(" ".join(["Usage: kraft", *words]))


def test_both_names_of_the_command(bare: Environment, tmp_path: Path) -> None:
    for program in ("kraft", "kraft-quorum"):
        assert bare.run("--version", cwd=tmp_path, program=program).stdout == f"kraft {__version__}\n"


def test_check(bare: Environment, tmp_path: Path) -> None:
    done = bare.run("check", *NODES, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    done = bare.run("check", *NODES, "-o", "json", cwd=tmp_path)
    assert "findings" in json.loads(done.stdout)


def test_log_dump_as_json(bare: Environment, tmp_path: Path) -> None:
    done = bare.run("log", "dump", LOG, "-o", "json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(json.loads(done.stdout)["records"]) > 50


def test_shell(bare: Environment, tmp_path: Path) -> None:
    done = bare.run("shell", LOG, "ls", "/image", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "topics" in done.stdout.split()


@pytest.mark.parametrize("words", NEED_THE_EXTRA, ids=lambda words: "-".join(words[:2]))
def test_without_the_extra_one_sentence_names_the_wheel(
    words: list[str | Path], built: Built, bare: Environment, tmp_path: Path
) -> None:
    done = bare.run(*words, cwd=tmp_path)
    said = [line for line in done.stderr.splitlines() if line.startswith("kraft: ")]
    assert (done.returncode, done.stdout, len(said)) == (2, "", 1), done.stderr
    assert said[0].endswith(f"-m pip install '{built.wheel}[analysis]'")
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_public_package(bare: Environment, tmp_path: Path) -> None:
    code = f"import kraft; print(kraft.check({str(LOG)!r}).is_sound, kraft.__version__)"
    done = bare.run("-c", code, cwd=tmp_path, program="python")
    assert (done.stdout, done.stderr) == (f"True {__version__}\n", "")


def _mypy(environment: Environment, program: str, directory: Path) -> subprocess.CompletedProcess[str]:
    (directory / "program.py").write_text(program)
    words = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(environment.python), "program.py"]
    return subprocess.run(words, cwd=directory, capture_output=True, text=True, check=False)


def test_a_users_program_passes_mypy_strict(bare: Environment, tmp_path: Path) -> None:
    done = _mypy(bare, USER_PROGRAM, tmp_path)
    assert done.stdout == "Success: no issues found in 1 source file\n", done.stdout


def test_mypy_finds_the_mistakes_of_a_user(bare: Environment, tmp_path: Path) -> None:
    found = re.findall(r"^program\.py:(\d+): error", _mypy(bare, MISTAKES, tmp_path).stdout, re.MULTILINE)
    assert {int(line) for line in found} == {3, 4, 5, 6}


def test_log_dump_as_parquet(with_analysis: Environment, tmp_path: Path) -> None:
    done = with_analysis.run("log", "export", LOG, "exported", "-o", "parquet", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    dump = f"exec kraft log dump {LOG} -o parquet > records.parquet"
    done = subprocess.run(
        ["sh", "-c", dump], cwd=tmp_path, env={"PATH": f"{with_analysis.python.parent}:/usr/bin:/bin"}, check=False,
        capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    code = "import pyarrow.parquet as p; print(p.read_table('records.parquet').num_rows)"
    rows = with_analysis.run("-c", code, cwd=tmp_path, program="python")
    assert int(rows.stdout) > 50, rows.stderr


def test_analyze_with_a_report(with_analysis: Environment, tmp_path: Path) -> None:
    done = with_analysis.run("analyze", *NODES, "--report", "verdict.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Report: verdict.html" in done.stdout
    assert re.search(r"<style>\s*[^<\s]", (tmp_path / "verdict.html").read_text())


def test_spark_finds_the_data_source_by_itself(with_analysis: Environment, tmp_path: Path) -> None:
    """A user's session, which registers nothing, reads the format in a process without this checkout."""
    code = f"""
import os, pathlib, sys
from metadata_log.analysis.java import find_java
java = find_java(pathlib.Path.cwd()).home
os.environ.update(JAVA_HOME=java, PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
topics = spark.read.format("kraft_metadata_log").load({str(LOG)!r}).where("type = 'TOPIC_RECORD'")
print(sorted(row.name for row in topics.select("name").collect()))
"""
    done = with_analysis.run("-c", code, cwd=tmp_path, program="python")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("['"), done.stdout


def test_demo(with_analysis: Environment, tmp_path: Path) -> None:
    done = with_analysis.run("demo", "--directory", "demo", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "demo" / "verdict.html").stat().st_size > 10_000
