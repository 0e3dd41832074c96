"""`deploy/Containerfile`, read as text: no engine that could build it is needed.

tests/integration/test_onefile.py runs a node as a uid without a name in the directory that the image makes.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.support.containerfile import instructions

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def stages() -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The instructions of the stage that builds, and of the image."""
    found = instructions()
    (_, second) = (at for at, (word, _) in enumerate(found) if word == "FROM")
    return found[:second], found[second:]


def test_every_folder_that_the_wheel_takes_packages_from_is_copied(
    stages: tuple[list[tuple[str, str]], list[tuple[str, str]]],
) -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    moved = settings.get("package-dir", {})
    needed = {moved.get(package, package.replace(".", "/")).split("/")[0] for package in settings["packages"]}
    copied = {source for word, rest in stages[0] if word == "COPY" for source in rest.split()[:-1]}
    assert needed <= copied
    assert all((ROOT / source).exists() for source in copied)


def test_the_image_names_no_user_and_belongs_to_group_0(
    stages: tuple[list[tuple[str, str]], list[tuple[str, str]]],
) -> None:
    image = stages[1]
    words = dict(image)
    uid, _, gid = words["USER"].partition(":")
    assert int(uid) > 0, "Kubernetes' runAsNonRoot asks for a number, and not that of root"
    assert gid == "0"
    assert not any(word == "RUN" and "useradd" in rest for word, rest in image)
    assert ("ENV", f"HOME={words['VOLUME']}") in image
    kinds = [word for word, _ in image]
    assert kinds.index("RUN") < kinds.index("VOLUME"), "what is changed in a volume after its declaration is lost"
