"""What there is to run: designs with their repeats and budgets, and peers."""

from peers.adapters import PEERS
from peers.settings import DESIGNS
from peers.settings.design import DEFAULT, FULL, QUICK


def lines():
    """One line a design, then one a peer."""
    for design in DESIGNS.values():
        repeats = "/".join(str(design.count(size)) for size in (QUICK, DEFAULT, FULL))
        epsilons = ", ".join(f"{epsilon:g}{' (pure)' if delta == 0 else ''}" for epsilon, delta in design.budgets)
        yield f"{design.setting}: {design.name}; {design.n:,} x {design.d:,}; repeats {repeats}; epsilon {epsilons}"
    for peer in PEERS.values():
        kind = "private" if peer.private else "not private"
        yield f"{peer.name}: {kind}; given {peer.needs}; {peer.reproduced}"
