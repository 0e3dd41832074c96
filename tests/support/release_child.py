"""`python -P release_child.py PARENT COMMAND...`: `kraft COMMAND...`, which first prints where its packages come from.

The interpreter of any release runs this file, so it imports nothing of the tests.
"""

from __future__ import annotations

import json
import os

import broker_agent
import kraft
import metadata_log
import quorum
from quorum.cli.demo.child import run


def packages() -> list[str]:
    """Return the directories that this process imports the product from: each later import looks there as well."""
    return [module.__path__[0] for module in (broker_agent, kraft, metadata_log, quorum)]


if __name__ == "__main__":
    print(json.dumps({"pid": os.getpid(), "packages": packages()}), flush=True)
    run()
