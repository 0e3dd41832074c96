"""`make onefile` writes nothing in the checkout but its three results, so that builds can run side by side."""

from __future__ import annotations

import importlib.util
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def builder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("onefile_build", ROOT / "deploy" / "onefile" / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_results_take_the_places_of_earlier_ones(builder: ModuleType, tmp_path: Path) -> None:
    made, output = tmp_path / "made", tmp_path / "output"
    for text in ("first", "second"):
        made.mkdir(exist_ok=True)
        (made / "kraft").write_text(text)
        (made / "kraft").chmod(0o755)
        (made / "kraft.sha256").write_text(text)
        builder.move_into(output, [made / "kraft", made / "kraft.sha256"])
        assert {path.name: path.read_text() for path in output.iterdir()} == {"kraft": text, "kraft.sha256": text}
    assert (output / "kraft").stat().st_mode & 0o777 == 0o755


def test_each_build_has_its_own_temporary_directory(
    builder: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[Path] = []

    def build(work: Path, output: Path) -> None:
        assert list(work.iterdir()) == []
        assert not work.is_relative_to(ROOT)
        assert output == ROOT / "build" / "onefile"
        built.append(work)

    monkeypatch.setattr(builder, "build", build)
    monkeypatch.setattr(builder.shutil, "which", lambda tool: f"/usr/bin/{tool}")
    for words in ([], ["--work", str(tmp_path / "kept")], ["--work", str(tmp_path / "kept")]):
        monkeypatch.setattr(sys, "argv", ["build.py", *words])
        builder.main()
    gone, *kept = built
    assert not gone.exists()
    assert sorted((tmp_path / "kept").iterdir()) == sorted(kept)
    assert len(set(built)) == 3


def test_the_wheel_is_built_from_a_copy_with_all_that_it_needs(builder: ModuleType, tmp_path: Path) -> None:
    source = tmp_path / "source"
    builder.copy_sources(source)
    project = tomllib.loads((source / "pyproject.toml").read_text())
    folders = project["tool"]["setuptools"]["package-dir"]
    for package in project["tool"]["setuptools"]["packages"]:
        top, _, rest = package.partition("quorum.pages")
        folder = source / folders["quorum.pages"] / rest.strip(".") if not top else source / package.replace(".", "/")
        assert any(folder.iterdir()), package
    assert (source / project["project"]["readme"]).is_file()
    assert all((source / name).is_file() for name in project["project"]["license-files"])
