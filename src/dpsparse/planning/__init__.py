"""What a budget buys, from public numbers alone, before any of it is spent."""

from dpsparse.planning.forecast import Plan, plan
from dpsparse.planning.peeling import PeelingLimits, peeling_limits

__all__ = ["PeelingLimits", "Plan", "peeling_limits", "plan"]
