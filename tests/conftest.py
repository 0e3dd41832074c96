"""Fixtures and hooks that suites in several folders share."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from hypothesis import HealthCheck, settings

import tests.support.environment  # noqa: F401  (before whatever imports gRPC)
from quorum.cli.demo import cluster
from tests.support.clusters import unpack_clusters
from tests.support.fresh_seed import fresh_seed
from tests.support.kill_run import KillRun, run_kills
from tests.support.warm_nodes import end_starter


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Return the scheduler that divides the tests among workers."""
    from tests.support.sharing import Sharing  # noqa: PLC0415  (for those alone who have several)

    return Sharing(config, log)


_OBJECTS_BETWEEN_COLLECTIONS = (5_000, 20, 10)
"""A tenth of the time of tests that make many objects went into looking for garbage after each 700."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage while tests are collected: a third of the time was spent on what stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Keep modules and tests, which live to the end, out of later collections of garbage, and have fewer of these."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_OBJECTS_BETWEEN_COLLECTIONS)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish() -> None:
    """Collect all garbage before a worker says that it has ended, and leave what lives alone from then on.

    pytest collects again after that. If a worker still runs five seconds later, execnet sends it a SIGINT. It then
    interrupted a callback of the collection: a KeyboardInterrupt for which no test was to blame.
    """
    gc.collect()
    gc.freeze()


settings.register_profile("any-machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any-machine")
"""How fast a property is tried says what else the machine does, nothing of the property."""


@pytest.fixture(scope="session")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All nodes of all scenarios of real clusters: read only, copy what is to be changed."""
    return unpack_clusters(tmp_path_factory.mktemp("clusters"))


@pytest.fixture(scope="session", autouse=True)
def _processes_that_can_be_interrupted() -> None:
    """A shell that runs the tests behind `&` ignores SIGINT, and their processes would ignore Ctrl-C, too."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _ports_of_its_own() -> None:
    """Give each worker a share of the ports, for copied clusters that start on their old ports."""
    worker, count = os.environ.get("PYTEST_XDIST_WORKER", "gw0"), int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    cluster.PORTS = cluster.PORTS[int(worker.removeprefix("gw")) :: count]


@pytest.fixture(scope="session", autouse=True)
def _no_starter_is_left() -> Iterator[None]:
    yield
    end_starter()


@pytest.fixture(scope="session")
def kill_run(tmp_path_factory: pytest.TempPathFactory) -> KillRun:
    """One run of kills for all who look at what it left. `KILL_SEED=n` repeats the order of its faults."""
    seed = fresh_seed("KILL_SEED")
    print(f"\nKILL_SEED={seed}")
    return run_kills(tmp_path_factory.mktemp("kills"), seed)


@pytest.fixture(autouse=True)
def _logging_of_its_own() -> Iterator[None]:
    """A test that configures logging, to a stream that ends with it, does so for itself alone."""
    yield
    structlog.reset_defaults()
