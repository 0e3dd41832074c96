"""What must be in the environment before gRPC is imported, by any test.

gRPC's handlers of forks run between the fork and the start of another program, here of Spark's JVM, and now and then
that JVM then does not start: the child has no use for gRPC. (PySpark starts it with a function of its own to run in the
child, which takes a real fork.)
"""

from __future__ import annotations

import os

os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
