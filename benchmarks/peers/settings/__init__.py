"""All designs of the comparison, by name."""

from peers.settings.simulated import SIMULATED
from peers.settings.tables import REAL

DESIGNS = {design.name: design for design in (*REAL, *SIMULATED)}
