"""Settings that must be made before any test imports gRPC.

Spark's tests start a JVM with a PySpark function that runs in the child and needs a real fork. With gRPC's fork
handlers, that JVM sometimes did not start.

An unexpected error of a command shows its traceback, in child processes too, so that a bug fails its test.
"""

from __future__ import annotations

import os

from quorum.cli.main import DEBUG_VARIABLE
from quorum.cli.running import fork_without_grpc

fork_without_grpc()
os.environ.setdefault(DEBUG_VARIABLE, "1")
