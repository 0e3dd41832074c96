"""Two releases of Apache Kafka beside each other, and the newer one beside this project's tables.

The facts of a release are areas, each with names, each with attributes: all texts. `facts` reads them from published
jars, `ours` makes the same of this project's tables. `comparison` finds differences, `left_out` names the deliberate
ones.
"""

from __future__ import annotations
