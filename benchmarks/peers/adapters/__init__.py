"""The only list of peers: `PEERS`, by name."""

from functools import partial

from dpsparse import DPIHTH, DPIHTL, DPSLR
from peers.adapters import (
    adassp,
    best_subset,
    binagg,
    dp_huber,
    dp_sgd,
    frank_wolfe,
    hessian_mixing,
    kendall,
    libraries,
    noisy_newton,
    noisy_statistics,
    not_run,
    open_fits,
    ours,
    paper,
    tukey,
)
from peers.problem import Peer, with_clipped_rows, with_exact_units, with_row_norms

_OURS = "dpsparse, this package"
_PAPER = "Tian et al. (2025), arXiv 2506.06861"
_OWN_PAGE = "the package's own pages: docs/reproduction (panels of the paper), benchmarks/accuracy.py"
_WANG = "Wang (2018), UAI, arXiv 1803.02596"
_ADASSP_TABLE = "10-fold errors at epsilon 1 and .1 on airfoil, wine, parkinsons and elevators: peers/checks.py"
_IHM_CHECK = "training errors of the authors' code on airfoil and wine at epsilon .1, 1 and 10: peers/checks.py"
_CLIPS = "; the clips are ours, in its favour"
_BSS = "Prastakos, Behdin and Mazumder (2025), NeurIPS, arXiv 2510.22062"
_BSS_CHECK = "not reproduced: it needs a commercial solver; the mechanism's law and limit in tests/benchmarks"

_ALL = [
    *(
        Peer(
            f"ours{', mean' if estimand == 'mean' else ''}{', nothing known' if needs == 'nothing' else ''}"
            f"{', record blanked' if adjacency == 'zero-out-one' else ''}",
            partial(ours.fit, estimand=estimand, units_known=needs != "nothing", adjacency=adjacency),
            True,
            needs,
            _OURS,
            _OWN_PAGE,
            adjacency=adjacency,
            of_mean=estimand == "mean",
        )
        # Beside peers whose guarantee is about adding or removing a record: a record is blanked.
        for adjacency in ("replace-one", "zero-out-one")
        for estimand in ("typical", "mean")
        for needs in ("exact units", "nothing")
    ),
    Peer(
        "ours, response unknown",
        partial(ours.fit, response_known=False),
        True,
        "units of the features",
        _OURS,
        _OWN_PAGE,
    ),
    *(
        Peer(
            name, with_exact_units(partial(paper.fit, method=method)), True, "exact units", _PAPER, _OWN_PAGE, pure=True
        )
        for name, method in (("DP-IHT-H", DPIHTH), ("DP-IHT-L", DPIHTL), ("DP-SLR", DPSLR))
    ),
    Peer(
        "AdaSSP",
        with_row_norms(adassp.fit),
        True,
        "row norms",
        _WANG,
        _ADASSP_TABLE,
        most_features=1500,
        adjacency="add-remove",
    ),
    Peer(
        "AdaSSP, rows clipped",
        with_clipped_rows(adassp.fit),
        True,
        "row norms",
        _WANG,
        _ADASSP_TABLE + _CLIPS,
        most_features=1500,
        adjacency="add-remove",
    ),
    Peer(
        "TukeyEM",
        tukey.fit,
        True,
        "nothing",
        "Amin et al. (2023), ICLR, arXiv 2208.07353",
        "not reproduced: its tables are not at hand; least squares' R2 on its synthetic design: peers/checks.py",
        most_features=200,
        adjacency="add-remove",
    ),
    *(
        Peer(
            f"Kendall + {regression}",
            partial(kendall.fit, regression=regression),
            True,
            needs,
            "Amin et al. (2023), NeurIPS, arXiv 2306.00920",
            "not reproduced: its 25 OpenML tables are not at hand; scores, noise and limits in tests/benchmarks",
            most_features=2000,
            adjacency="add-remove",
        )
        for regression, needs in (("BAS", "exact units"), ("Tukey", "nothing"))
    ),
    Peer(
        "DPHuber",
        with_exact_units(dp_huber.fit),
        True,
        "exact units",
        "Chang et al. (2026), arXiv 2603.07505",
        "log errors of the authors' code on 5,000 x 1,000 at epsilon .5 and .9: peers/checks.py",
    ),
    Peer(
        "Hessian mixing",
        with_row_norms(hessian_mixing.fit),
        True,
        "row norms",
        "Lev et al. (2026), arXiv 2601.07545",
        _IHM_CHECK,
        most_features=1000,
        adjacency="add-remove",
    ),
    Peer(
        "Hessian mixing, rows clipped",
        with_clipped_rows(hessian_mixing.fit),
        True,
        "row norms",
        "Lev et al. (2026), arXiv 2601.07545",
        _IHM_CHECK + _CLIPS,
        most_features=1000,
        adjacency="add-remove",
    ),
    Peer(
        "DP-BSS",
        with_exact_units(best_subset.fit),
        True,
        "exact units",
        _BSS,
        _BSS_CHECK,
        pure=True,
        most_features=1000,
    ),
    Peer(
        "DP-BSS, support only",
        with_exact_units(partial(best_subset.fit, support_only=True)),
        True,
        "exact units",
        _BSS,
        _BSS_CHECK,
        pure=True,
        most_features=1000,
    ),
    Peer(
        "Frank-Wolfe",
        with_exact_units(frank_wolfe.fit),
        True,
        "exact units",
        "Talwar, Thakurta and Zhang (2015), NIPS",
        "not reproduced: the paper has no experiments; noise and limit in tests/benchmarks",
        adjacency="add-remove",
    ),
    Peer(
        "DP-SGD",
        with_exact_units(dp_sgd.fit),
        True,
        "exact units",
        "Abadi et al. (2016), CCS, arXiv 1607.00133",
        "not reproduced: the paper trains networks; noise and limit in tests/benchmarks",
    ),
    Peer(
        "OpenDP Theil-Sen",
        libraries.opendp_theil_sen,
        True,
        "bounds",
        "OpenDP 0.16, opendp.extras.sklearn.linear_model",
        "is the library's",
        pure=True,
        most_features=1,
        adjacency="add-remove",
    ),
    Peer(
        "diffprivlib",
        libraries.diffprivlib_linear,
        True,
        "bounds",
        "IBM diffprivlib 0.6.6; Zhang et al. (2012)",
        "is the library's; its noise is wrong (its issues 104 and 105)",
        pure=True,
        most_features=100,
        missing=libraries.diffprivlib_missing(),
    ),
    *(
        Peer(
            name,
            with_exact_units(partial(binagg.fit, whole=whole)),
            True,
            "exact units and bounds",
            "Lin, Slavkovic and Bhoomireddy (2026), AISTATS, arXiv 2510.16974",
            "widths of the authors' package on 2,000 x 3 at mu 1 and 2, with its noise: peers/checks.py",
            most_features=100,  # it is for few features, and has more bins than features
            adjacency="add-remove",
        )
        for name, whole in (("BinAgg", False), ("BinAgg, whole correction", True))
    ),
    Peer(
        "dp-statsmodels",
        with_exact_units(noisy_statistics.fit),
        True,
        "exact units and bounds",
        "dp-statsmodels (2025), github.com/MaxGhenis/dp-statsmodels",
        "standard errors and errors of the package on its own design at epsilon 1 and 10: peers/checks.py",
        most_features=1000,
        adjacency="add-remove",
    ),
    Peer(
        "noisy Newton",
        with_exact_units(noisy_newton.fit),
        True,
        "exact units",
        "Avella-Medina, Bradshaw and Loh (2023), Annals of Statistics, arXiv 2103.11003",
        "not reproduced: only its opening pages are at hand; noise and limit in tests/benchmarks",
        most_features=1000,
    ),
    *(
        Peer(name, not_run.fit, True, "nothing", paper, why, missing=why)
        for name, paper, why in (
            ("DD-SSP", "Ferrando and Sheldon (2025), TMLR, arXiv 2405.15002", not_run.DD_SSP),
            ("sparse debiased", "Cai, Li, Xia and Zhang (2023), arXiv 2310.16260", not_run.SPARSE_DEBIASED),
            ("DPrivStats", "DPrivStats (2026), CRAN", not_run.DPRIVSTATS),
        )
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
    Peer(
        "lasso",
        open_fits.lasso,
        False,
        "nothing",
        "Tibshirani (1996)",
        "is scikit-learn's",
        most_features=2500,  # at 5,000 x 5,000 its paths take over ten minutes
        heavy=True,
    ),
]

PEERS = {peer.name: peer for peer in _ALL}
