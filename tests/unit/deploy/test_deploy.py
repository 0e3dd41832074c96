"""The files of the deployment pass through their real readers: configuration, voters, the shell."""

from __future__ import annotations

import configparser
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from metadata_log.files.os_files import OsFiles
from metadata_log.ids import parse_id
from metadata_log.storage.checkpoint import read_checkpoint
from metadata_log.voters import parse_voters
from quorum.node.config.node_config import KEYS, load_config

DEPLOY = Path(__file__).resolve().parents[3] / "deploy"
SAMPLES = sorted((DEPLOY / "config").glob("*.properties"))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_a_sample_configuration_is_accepted(sample: Path) -> None:
    assert load_config(sample).is_controller == (sample.stem == "controller")


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_what_a_sample_calls_a_default_is_the_default(sample: Path) -> None:
    told = re.findall(r"^#([a-z.]+)=(.*)$", sample.read_text(), re.MULTILINE)
    assert [(key, KEYS[key].default) for key, _ in told] == told


def test_the_image_is_built_from_every_folder_that_the_build_reads() -> None:
    root = DEPLOY.parent
    project = tomllib.loads((root / "pyproject.toml").read_text())
    setuptools = project["tool"]["setuptools"]
    folders = {name.partition(".")[0] for name in setuptools["packages"]} | set(setuptools["package-dir"].values())
    files = {"pyproject.toml", "constraints.txt", project["project"]["readme"], *project["project"]["license-files"]}
    lines = (DEPLOY / "Containerfile").read_text().splitlines()
    copied = {word for line in lines if re.match(r"COPY (?!--)", line) for word in line.split()[1:-1]}
    assert copied == folders | files


def _compose() -> dict[str, Any]:
    return dict(yaml.safe_load((DEPLOY / "compose" / "compose.yaml").read_text()))


def test_the_compose_file_names_a_quorum_that_it_starts() -> None:
    compose = _compose()
    services = compose["services"]
    environment = services["controller-1"]["environment"]
    voters = parse_voters(environment["KRAFT_INITIAL_CONTROLLERS"].strip())
    parse_id(environment["KRAFT_CLUSTER_ID"])
    assert [voter.endpoints[0].host for voter in voters] == [name for name in services if name.startswith("controller")]
    for name, service in services.items():
        role, node_id = service["command"][:2]
        assert (name, service["hostname"]) == (f"{role}-{node_id}", name)
        assert f"{name}:/var/lib/kraft" in service["volumes"]
        assert name in compose["volumes"]


def test_every_controller_is_reached_from_the_host_and_inside_by_the_same_address() -> None:
    """Clients reach any leader by its advertised address: one port on both sides, different for each controller."""
    services = _compose()["services"]
    environment = services["controller-1"]["environment"]
    grpc = {
        endpoint.host: endpoint.port
        for voter in parse_voters(environment["KRAFT_INITIAL_CONTROLLERS"].strip())
        for endpoint in voter.endpoints
        if endpoint.name == "GRPC"
    }
    assert len(set(grpc.values())) == len(grpc) == 3
    assert environment["KRAFT_BOOTSTRAP_CONTROLLER"] == ",".join(f"{host}:{port}" for host, port in grpc.items())
    for host, port in grpc.items():
        assert services[host]["command"][2] == str(port)
        assert services[host]["ports"] == [f"127.0.0.1:{port}:{port}"]
        assert services[host]["environment"] == environment


@pytest.mark.parametrize(("role", "node_id"), [("controller", "2"), ("agent", "11")])
def test_the_containers_start_script_formats_once_and_becomes_the_node(tmp_path: Path, role: str, node_id: str) -> None:
    service = _compose()["services"][f"{role}-{node_id}"]
    real = Path(sys.executable).with_name("kraft")
    kraft = tmp_path / "bin" / "kraft"
    kraft.parent.mkdir()
    kraft.write_text(f'#!/bin/sh\n[ "$2" = start ] && exec {real} storage info -o json "$3" "$4"\nexec {real} "$@"\n')
    kraft.chmod(0o755)
    hostname = kraft.with_name("hostname")  # as the compose file names the container
    hostname.write_text(f"#!/bin/sh\necho {role}-{node_id}\n")
    hostname.chmod(0o755)
    environment = {
        **os.environ, **service["environment"], "TMPDIR": str(tmp_path),
        "KRAFT_DATA": str(tmp_path / "data"), "PATH": f"{kraft.parent}:{os.environ['PATH']}",
    }  # fmt: skip
    for said in ("Formatting", "is formatted already"):
        done = subprocess.run(
            ["sh", str(DEPLOY / "compose" / "start.sh"), *service["command"]],
            env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert said in done.stdout
        assert f'"node_id": {node_id}' in done.stdout
    told = load_config(tmp_path / "node.properties").advertised_listeners[-1]
    assert (told.host, told.port) == (f"{role}-{node_id}", 9194 if role == "controller" else 9094)
    voters = tmp_path / "data" / "__cluster_metadata-0" / "00000000000000000000-0000000000.checkpoint"
    assert voters.exists() == (role == "controller")
    if role == "controller":
        assert len(read_checkpoint(OsFiles(), str(voters)).voters.voters) == 3


def test_the_start_script_refuses_another_role() -> None:
    done = subprocess.run(
        ["sh", str(DEPLOY / "compose" / "start.sh"), "broker", "1"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, "neither controller nor agent" in done.stderr) == (2, True)


@pytest.mark.parametrize("role", ["controller", "agent"])
def test_a_unit_tells_systemd_when_it_is_ready_and_is_confined(role: str) -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read(DEPLOY / "systemd" / f"kraft-{role}.service")
    service = unit["Service"]
    assert service["Type"] == "notify"
    assert service["ExecStart"] == f"/opt/kraft/bin/kraft {role} start --config /etc/kraft/{role}.properties"
    assert int(service["LimitNOFILE"]) >= 65_536
    for key, value in (("NoNewPrivileges", "yes"), ("ProtectSystem", "strict"), ("DynamicUser", "yes")):
        assert service[key] == value
    assert load_config(DEPLOY / "config" / f"{role}.properties").log_dirs == (f"/var/lib/{service['StateDirectory']}",)


@pytest.mark.parametrize("role", ["controller", "agent"])
def test_what_the_page_formats_with_is_what_the_unit_runs_with(role: str) -> None:
    """The same user, in the same directory: the service cannot open another user's files."""
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read(DEPLOY / "systemd" / f"kraft-{role}.service")
    page = (DEPLOY.parent / "docs" / "install.md").read_text().replace("\\\n", " ")
    [words] = [
        shlex.split(line) for line in page.splitlines() if "systemd-run --" in line and f"/{role}.properties" in line
    ]
    given = dict(words[at + 1].split("=", 1) for at, word in enumerate(words) if word == "-p")
    assert given.pop("User") == f"kraft-{role}"
    assert given == {key: unit["Service"][key] for key in given}
    assert {"DynamicUser", "StateDirectory", "UMask"} <= given.keys()
    command = words.index("storage")
    assert words[command - 1] == unit["Service"]["ExecStart"].split()[0]
    assert words[command + 3] == f"/etc/kraft/{role}.properties"
