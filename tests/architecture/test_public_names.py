"""The public package: its names, what they load, and the synchronous form of each asynchronous method."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import kraft

ROOT = Path(__file__).resolve().parents[2]
NAMES = Path(__file__).with_name("public_names.txt")
"""Programs rely on these. A name that goes is an entry under `Removed` in the changelog."""
OURS = ("kraft", "quorum", "metadata_log", "broker_agent")


def _loaded(code: str) -> set[str]:
    """Return the modules that a fresh interpreter has loaded after some code."""
    words = [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_public_names_are_those_of_the_list() -> None:
    assert sorted(kraft.__all__) == NAMES.read_text().split()
    assert dir(kraft) == sorted(kraft.__all__)


def test_every_public_name_is_there() -> None:
    for name in kraft.__all__:
        assert getattr(kraft, name) is not None


def test_type_checkers_see_the_same_names_from_the_same_modules() -> None:
    """The imports for type checkers are a second list: neither ruff nor mypy misses a name there."""
    source = ast.parse(Path(kraft.__file__).read_text())
    (block,) = (one for one in source.body if isinstance(one, ast.If) and ast.unparse(one.test) == "TYPE_CHECKING")
    imports = [one for one in block.body if isinstance(one, ast.ImportFrom)]
    seen = {alias.asname or alias.name: one.module for one in imports for alias in one.names}
    assert seen == {name: kraft._HOMES.get(name, "quorum.client") for name in kraft.__all__}


def test_another_name_is_not() -> None:
    with pytest.raises(AttributeError, match="module 'kraft' has no attribute 'no_such_name'"):
        getattr(kraft, "no_such_name")  # noqa: B009  (mypy knows that it is not there)


def test_the_package_loads_neither_grpc_nor_kio() -> None:
    before, after = _loaded("pass"), _loaded("import kraft")
    assert {name for name in after - before if name.partition(".")[0] in (*OURS, "grpc", "kio", "msgspec")} == {"kraft"}


def test_the_stubs_load_nothing_else_of_the_project() -> None:
    code = "import kraft.v1.quorum_pb2_grpc, kraft.v1.controller_pb2_grpc, kraft.v1.agent_pb2_grpc"
    ours = {name for name in _loaded(code) if name.partition(".")[0] in OURS}
    assert {name for name in ours if not name.startswith("kraft.v1.")} == {"kraft", "kraft.v1"}


def test_the_toolkit_loads_no_grpc() -> None:
    tops = {name.partition(".")[0] for name in _loaded("import kraft; kraft.check, kraft.image_at, kraft.TopicId")}
    assert tops & {"grpc", "kio", "google", "quorum"} == set()


@pytest.mark.parametrize(
    ("waiting", "asynchronous"), [(kraft.SyncClient, kraft.Client), (kraft.SyncAdmin, kraft.Admin)]
)
def test_every_asynchronous_method_has_its_synchronous_form(waiting: type, asynchronous: type) -> None:
    wanted = {
        name: inspect.signature(method)
        for name, method in inspect.getmembers(asynchronous, inspect.iscoroutinefunction)
        if not name.startswith("_")
    }
    assert len(wanted) > 10
    missing = [name for name in wanted if not hasattr(waiting, name)]
    assert missing == [], f"add them to kraft/_blocking.py: `{missing[:1]} = _blocking(...)`"
    for name, signature in wanted.items():
        assert inspect.signature(getattr(waiting, name)).parameters.keys() == signature.parameters.keys(), name
        assert not inspect.iscoroutinefunction(getattr(waiting, name)), name


def test_a_method_that_changes_ids_takes_the_same_arguments() -> None:
    for public in (kraft.Client, kraft.Admin):
        for name, method in vars(public).items():
            theirs = getattr(public.__base__, name, None)
            if theirs is not None and inspect.iscoroutinefunction(method):
                ours = inspect.signature(method).parameters.keys()
                assert ours == inspect.signature(theirs).parameters.keys(), name
