"""How much memory this process has taken."""

from __future__ import annotations

import resource
import sys


def peak_megabytes() -> float:
    """The largest resident memory this process has had so far, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak / 1e3
