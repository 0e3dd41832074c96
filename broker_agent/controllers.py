"""What an agent asks of the active controller: it registers, beats, and proposes ISRs.

Decides: what of the agent goes into each request, and what an answer, or none, means for its life. Must not know: who
the active controller is (the client finds it) and when to ask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import structlog

from broker_agent.lifecycle import Lifecycle, SendHeartbeat, SendRegistration
from broker_agent.replication import IsrProposal
