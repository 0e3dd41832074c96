"""The one Spark of a process: small, local, quiet, and with workers that find this project.

Decides: Spark's settings. Must not know: what is computed.

Starting a JVM costs far more here than the data: so the first compiler tier only and the serial collector (large logs
want the second tier: `large`), no SQL, no user interface.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import logging
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Collection, Iterable
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway

import metadata_log
from metadata_log.analysis.errors import AnalysisError
from metadata_log.analysis.java import Java, find_java

_PROJECT_ROOT: Final = Path(metadata_log.__file__).resolve().parent.parent


@cache
def java() -> Java:
    """The Java that this process uses for Spark.

    Raises:
        JavaNotFoundError: there is none.
    """
    return find_java(_scratch())


def spark_context(*, large: bool = False) -> SparkContext:
    """The running Spark, started on the first call; later calls return the same one, whatever their settings.

    Raises:
        JavaNotFoundError: there is no Java for it.
        AnalysisError: that Java did not start Spark.
    """
    running = SparkContext._active_spark_context
    if running is not None:
        return running
    _prepare_environment()
    conf = (
        SparkConf().setMaster("local[*]").setAppName("metadata-log-analysis").setAll([*_settings(large=large).items()])
    )
    said, on_interrupt = _scratch() / "spark.log", signal.getsignal(signal.SIGINT)
    try:
        with said.open("wb") as stderr:
            # Its JVM writes warnings there that are nobody's concern; whatever goes wrong comes back as an exception.
            gateway = launch_gateway(conf, popen_kwargs={"stderr": stderr, **own_group()})  # type: ignore[no-untyped-call]
            context = SparkContext(conf=conf, gateway=gateway)
            # Its own asks the JVM to cancel its jobs, and prints what then goes wrong.
            signal.signal(signal.SIGINT, on_interrupt)
    except (Py4JJavaError, PySparkRuntimeError, OSError) as error:
        last = "; ".join(said.read_text(encoding="utf-8", errors="replace").splitlines()[-3:])
        raise out_of_space(error) or AnalysisError(f"{java().origin} did not start Spark: {last or error}") from error
    context.setLogLevel("ERROR")
    return context


def out_of_space(error: Exception) -> AnalysisError | None:
    """What stopped Spark in our words, where that is a full disk."""
    if os.strerror(errno.ENOSPC) not in str(error):
        return None
    return AnalysisError(f"no space is left for Spark's files in {_scratch().parent}: name another directory in TMPDIR")


def abandon() -> None:
    """Whoever waits has given up: end Spark's processes, whatever they are at, and remove its files."""
    logging.getLogger("py4j").setLevel(logging.CRITICAL)  # what it cannot tell a JVM any more is nobody's concern
    end_descendants()
    shutil.rmtree(_scratch(), ignore_errors=True)


@cache
def _scratch() -> Path:
    """A directory for this process's Spark, removed when the process ends."""
    directory = Path(tempfile.mkdtemp(prefix="kraft-analysis-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory


def _prepare_environment() -> None:
    """What the JVM and the Python workers inherit. Spark reads these only when its JVM starts."""
    paths = [str(_PROJECT_ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    os.environ["JAVA_HOME"] = java().home
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(paths))
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # The command line's JVM only composes the command of the real one: it needs no optimising compiler either.
    os.environ.setdefault("SPARK_LAUNCHER_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto")


def _settings(*, large: bool) -> dict[str, str]:
    scratch = _scratch()
    options = [f"-Djava.io.tmpdir={scratch}", "-XX:-UsePerfData"]
    if not large:
        options += ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    return {
        "spark.driver.memory": "3g" if large else "1g",
        "spark.driver.maxResultSize": "0",
        "spark.driver.extraJavaOptions": " ".join(options),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(scratch),
    }


_PROC: Final = Path("/proc")
_STATE, _PARENT, _GROUP = 0, 1, 2
"""Of /proc/PID/stat, counted behind the name in brackets."""
_WAIT_S: Final = 5.0
_LOOK_S: Final = 0.01


class _Process(NamedTuple):
    pid: int
    parent: int
    group: int


def own_group() -> dict[str, int]:
    """For Popen: a terminal's Ctrl-C is to reach this process alone, which then ends the others."""
    return {"process_group": 0} if _PROC.is_dir() else {}


def end_descendants() -> None:
    """Kill all of them, and wait until they are gone.

    Those that lead a group of their own (`own_group`) with all who are in it: one that was started after we looked has
    lost its parent by the next look, but not its group.
    """
    until, groups = time.monotonic() + _WAIT_S, set[int]()
    while time.monotonic() < until:
        processes = _processes()
        found = _descendants(processes, os.getpid())
        groups |= {each.group for each in found if each.group == each.pid}
        left = found | {each for each in processes if each.group in groups}
        if not left:
            return
        _kill({each.pid for each in left}, groups & {each.group for each in left})
        with contextlib.suppress(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)
        time.sleep(_LOOK_S)


def _kill(pids: Iterable[int], groups: Iterable[int]) -> None:
    for group in groups:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _descendants(processes: Collection[_Process], of: int) -> set[_Process]:
    found, newest = set[_Process](), {of}
    while newest:
        children = {each for each in processes if each.parent in newest}
        newest = {each.pid for each in children}
        found |= children
    return found


def _processes() -> list[_Process]:
    """Those that still run; a child that waits to be reaped does not."""
    found = []
    for entry in _PROC.glob("[0-9]*/stat") if _PROC.is_dir() else ():
        with contextlib.suppress(OSError, IndexError, ValueError):
            fields = entry.read_text().rpartition(")")[2].split()
            if fields[_STATE] != "Z":
                found.append(_Process(int(entry.parent.name), int(fields[_PARENT]), int(fields[_GROUP])))
    return found
