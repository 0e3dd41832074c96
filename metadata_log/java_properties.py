"""Where a line of Java properties ends, and what is blank in it: what else Python takes for either is text there.

Decides nothing else: `meta_properties` and a node's configuration are written otherwise.
"""

from __future__ import annotations

import re
from typing import Final

LINE_END: Final = re.compile(r"\r\n|\r|\n")
BLANKS: Final = " \t\f"
