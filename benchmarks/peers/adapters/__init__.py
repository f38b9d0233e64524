"""The only list of peers: `PEERS`, by name."""

from functools import partial

from dpsparse import DPIHTH, DPIHTL, DPSLR
from peers.adapters import adassp, open_fits, ours, paper
from peers.problem import Peer, with_clipped_rows, with_exact_units, with_row_norms

_OURS = "dpsparse, this package"
_PAPER = "Tian et al. (2025), arXiv 2506.06861"
_OWN_PAGE = "the package's own pages: docs/reproduction (panels of the paper), benchmarks/accuracy.py"
_WANG = "Wang (2018), UAI, arXiv 1803.02596"
_ADASSP_TABLE = "10-fold errors at epsilon 1 and .1 on airfoil, wine, parkinsons and elevators: peers/checks.py"

_ALL = [
    Peer("ours", ours.fit, True, "exact units", _OURS, _OWN_PAGE),
    Peer("ours, auto", partial(ours.fit, auto=True), True, "exact units", _OURS, _OWN_PAGE),
    Peer("ours, nothing known", partial(ours.fit, units_known=False), True, "nothing", _OURS, _OWN_PAGE),
    Peer(
        "ours, nothing known, auto", partial(ours.fit, units_known=False, auto=True), True, "nothing", _OURS, _OWN_PAGE
    ),
    *(
        Peer(name, with_exact_units(partial(paper.fit, method=method)), True, "exact units", _PAPER, _OWN_PAGE)
        for name, method in (("DP-IHT-H", DPIHTH), ("DP-IHT-L", DPIHTL), ("DP-SLR", DPSLR))
    ),
    Peer("AdaSSP", with_row_norms(adassp.fit), True, "row norms", _WANG, _ADASSP_TABLE, most_features=1500),
    Peer(
        "AdaSSP, rows clipped",
        with_clipped_rows(adassp.fit),
        True,
        "row norms",
        _WANG,
        _ADASSP_TABLE + "; the clips are ours, in its favour",
        most_features=1500,
    ),
    Peer("OLS", open_fits.ols, False, "nothing", "Gauss", "is the library's", most_features=2500),
    Peer("Huber", open_fits.huber, False, "nothing", "Huber (1964)", "tests/benchmarks", most_features=1000),
    Peer("IHT", with_exact_units(open_fits.iht), False, "exact units", "Blumensath and Davies (2009)", _OWN_PAGE),
    Peer(
        "adaHuber",
        with_exact_units(open_fits.ada_huber),
        False,
        "exact units",
        "Sun, Zhou and Fan (2020), JASA",
        "golden numbers of the R package: tests/algorithms",
        heavy=True,
    ),
    Peer("lasso", open_fits.lasso, False, "nothing", "Tibshirani (1996)", "is scikit-learn's", heavy=True),
]

PEERS = {peer.name: peer for peer in _ALL}
