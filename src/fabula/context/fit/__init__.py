"""Fit: what enters the prompt, what is trimmed over budget, and in which order (bud-3, bud-5).

Every fragment gets an outcome, also those left out. Everything was counted before; here are only sums. `trimming` sees
to the order; the other modules each fit one part of a prompt.
"""

from __future__ import annotations

from fabula.context.fit.selection import Selection
from fabula.context.fit.trimming import fit

__all__ = ["Selection", "fit"]
