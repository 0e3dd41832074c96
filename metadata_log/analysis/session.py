"""The one Spark of a process: small, local, without output, with workers that find this project.

Decides: Spark's settings. Must not know: the computation. The start of a JVM costs far more than the data. So it has
only the first compiler tier, the serial collector, no SQL and no user interface. Large logs need the second tier
(`large`).
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
    """Return the Java that this process uses for Spark.

    Raises:
        JavaNotFoundError: no suitable Java was found.
    """
    return find_java(_scratch())


def spark_context(*, large: bool = False) -> SparkContext:
    """Return the running Spark. The first call starts it; later calls ignore the settings.

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
            # The JVM's standard error holds only warnings; every failure comes back as an exception.
            gateway = launch_gateway(conf, popen_kwargs={"stderr": stderr, **own_group()})  # type: ignore[no-untyped-call]
            context = SparkContext(conf=conf, gateway=gateway)
            # Spark's handler asks the JVM to cancel its jobs, and prints the errors of that.
            signal.signal(signal.SIGINT, on_interrupt)
    except (Py4JJavaError, PySparkRuntimeError, OSError) as error:
        last = "; ".join(said.read_text(encoding="utf-8", errors="replace").splitlines()[-3:])
        raise out_of_space(error) or AnalysisError(f"{java().origin} did not start Spark: {last or error}") from error
    context.setLogLevel("ERROR")
    return context


def out_of_space(error: Exception) -> AnalysisError | None:
    """Return the error for the operator if a full disk stopped Spark, or None."""
    if os.strerror(errno.ENOSPC) not in str(error):
        return None
    return AnalysisError(f"no space is left for Spark's files in {_scratch().parent}: name another directory in TMPDIR")


def abandon() -> None:
    """End Spark's processes and remove its files, because the operator has interrupted the analysis."""
    logging.getLogger("py4j").setLevel(logging.CRITICAL)  #   # py4j's failures to reach the ended JVM do not matter
    end_descendants()
    shutil.rmtree(_scratch(), ignore_errors=True)


@cache
def _scratch() -> Path:
    """Return the directory for this process's Spark, which is removed when the process ends."""
    directory = Path(tempfile.mkdtemp(prefix="kraft-analysis-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory


def _prepare_environment() -> None:
    """Set the environment of the JVM and of the Python workers. Spark reads it only when its JVM starts."""
    paths = [str(_PROJECT_ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    os.environ["JAVA_HOME"] = java().home
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(paths))
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # The launcher's JVM only composes the command of the real one, so it needs no optimising compiler either.
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
"""Fields of /proc/PID/stat, counted after the name in brackets."""
_WAIT_S: Final = 5.0
_LOOK_S: Final = 0.01


class _Process(NamedTuple):
    pid: int
    parent: int
    group: int


def own_group() -> dict[str, int]:
    """Return arguments for Popen: a terminal's Ctrl-C reaches only this process, which then ends the others."""
    return {"process_group": 0} if _PROC.is_dir() else {}


def end_descendants() -> None:
    """Kill all descendants, and wait until they are gone.

    The groups that a descendant leads (`own_group`) are killed as well. A process that starts between two looks may
    have lost its parent by the second one, but not its group.
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
    """Return the running processes, without zombies."""
    found = []
    for entry in _PROC.glob("[0-9]*/stat") if _PROC.is_dir() else ():
        with contextlib.suppress(OSError, IndexError, ValueError):
            fields = entry.read_text().rpartition(")")[2].split()
            if fields[_STATE] != "Z":
                found.append(_Process(int(entry.parent.name), int(fields[_PARENT]), int(fields[_GROUP])))
    return found
