"""The one Spark session of a process: small, local, quiet, and with workers that find this project.

Decides: Spark's settings. Must not know: what is computed.

Starting a JVM and compiling plans cost far more here than the data: so the first compiler tier only and the serial
collector (a fifth less time on small logs; logs of many millions of records want the second tier: `large`), no code
generation, few shuffle partitions, no user interface.
"""

from __future__ import annotations

import atexit
import errno
import logging
import os
import shutil
import signal
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Final

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

import metadata_log
from metadata_log.analysis.descendants import end_descendants, own_group
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


def spark_session(*, large: bool = False) -> SparkSession:
    """The session, started on the first call; later calls return the same one, whatever their settings.

    Raises:
        JavaNotFoundError: there is no Java for it.
        AnalysisError: that Java did not start Spark.
    """
    running = SparkSession.getActiveSession()
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
    except (PySparkRuntimeError, OSError) as error:
        last = "; ".join(said.read_text(encoding="utf-8", errors="replace").splitlines()[-3:])
        raise AnalysisError(f"{java().origin} did not start Spark: {last or error}") from error
    context.setLogLevel("ERROR")
    return SparkSession(context)


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
    cores = os.cpu_count() or 1
    return {
        "spark.driver.memory": "3g" if large else "1g",
        "spark.driver.extraJavaOptions": " ".join(options),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.shuffle.partitions": str(max(2, cores) if not large else 2 * cores),
        "spark.sql.adaptive.enabled": "true" if large else "false",
        "spark.sql.codegen.wholeStage": "true" if large else "false",
        "spark.sql.codegen.factoryMode": "FALLBACK" if large else "NO_CODEGEN",
        "spark.sql.session.timeZone": "UTC",
    }
