"""The paper's experiments as data: the parameters that it states, and our choices where it is silent.

The paper gives s* = 5, epsilon = 0.5, delta = n**-1.1, tau = 1, K = log d, step 0.01 and Student-t noise with 1.75
(zeta = 0.5) and 3 (zeta = 1) degrees of freedom. It leaves open n, T, the radius, all grids and the scale of the
coefficients: we chose those here.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, cast

DEGREES_OF_FREEDOM = {0.5: 1.75, 1.0: 3.0}
EPSILON = 0.5
FIRST_SEED = 20_000  # of repetition 0; the pilot that chooses adaHuber's lambda has seed 19,999

# The parameters of DPIHTH, DPIHTL and DPSLR in the two settings of the paper's methods. All others have the package's
# defaults, which are the paper's where it states them: tau = 1, K = log d, T = log n rounded.
SETTINGS: dict[str, dict[str, Any]] = {
    "as stated": {"step": 0.01, "adjacency": "zero-out-one", "calibration": "paper"},
    "corrected": {},
}
SETTING_NOTES = {
    "as stated": "step 0.01, tau = 1, K = log d, T = log n, the printed noise and sensitivity. Private only if "
    "neighbours blank a record (zero-out-one): not private under the paper's own Definition 1, which replaces one.",
    "corrected": "sound sensitivities (replace-one), the smallest noise the accounting allows, step 0.5 for "
    "DP-IHT-H and DP-SLR, Theorem 4's two-phase step for DP-IHT-L; tau, K and T as stated.",
    "ours": "PrivateSparseRegressor for the typical response, told that the features are standardised and else at its "
    "defaults, replace-one, on the same data at the same epsilon and delta.",
}
PRIVATE = ("DP-IHT-H", "DP-IHT-L", "DP-SLR")
OURS = "ours"
LASSO = "adaHuber"
CUT = "adaHuber, cut to s*"


@dataclass(frozen=True)
class Data:
    """Parameters of the generator of synthetic data."""

    n: int
    d: int
    sparsity: int = 5
    zeta: float = 1.0

    @property
    def weight(self) -> int:
        """Rough amount of work, for the estimate of the time left."""
        return self.n * self.d


@dataclass(frozen=True)
class Regime:
    """A default data set, and the values each axis takes around it."""

    name: str
    base: Data
    grids: dict[str, tuple[float, ...]] = field(hash=False)

    def points(self, axis: str, zeta: float) -> Iterator[tuple[float, Data, float]]:
        """(value, data, epsilon) along an axis, for noise with one weight of tails."""
        for value in self.grids[axis]:
            base = replace(self.base, zeta=zeta)
            yield (
                value,
                (base if axis == "epsilon" else replace(base, **{axis: cast(Any, value)})),
                (value if axis == "epsilon" else EPSILON),
            )


def _regime(
    name: str,
    n: int,
    d: int,
    ns: tuple[int, ...],
    ds: tuple[int, ...],
    sparsities: tuple[int, ...] = (2, 5, 10, 15, 20),
    epsilons: tuple[float, ...] = (0.1, 0.25, 0.5, 1.0, 2.0),
) -> Regime:
    return Regime(name, Data(n, d), {"n": ns, "d": ds, "sparsity": sparsities, "epsilon": epsilons})


REGIMES = (
    _regime("small", 10_000, 1_000, (1_000, 2_000, 5_000, 10_000, 20_000), (250, 500, 1_000, 2_000, 4_000)),
    _regime("large", 100_000, 200, (10_000, 20_000, 50_000, 100_000, 200_000), (50, 100, 200, 400, 800)),
)
QUICK_REGIMES = (
    _regime("small", 2_000, 200, (500, 1_000, 2_000), (100, 200, 400), (2, 5, 10), (0.1, 0.5, 2.0)),
    _regime("large", 20_000, 50, (5_000, 10_000, 20_000), (25, 50, 100), (2, 5, 10), (0.1, 0.5, 2.0)),
)


@dataclass(frozen=True)
class Panel:
    """One panel of the paper: an axis, the tails it shows, and the methods it compares."""

    figure: int
    letter: str
    axis: str
    zetas: tuple[float, ...]
    methods: tuple[str, ...]

    @property
    def name(self) -> str:
        """Its name on the command line."""
        return f"fig{self.figure}{self.letter}"


AXIS_LABELS = {"n": "records, n", "d": "features, d", "sparsity": "nonzero coefficients, s*", "epsilon": "epsilon"}
# Panels over n and d show both tails: the paper's text compares zeta in 1a, 2a and 2b.
_AXES = (("a", "n", (0.5, 1.0)), ("b", "d", (0.5, 1.0)), ("c", "sparsity", (1.0,)), ("d", "epsilon", (1.0,)))
PANELS = {
    panel.name: panel
    for figure, methods in ((1, ("DP-IHT-H", "DP-SLR")), (2, ("DP-IHT-L", "DP-IHT-H")))
    for letter, axis, zetas in _AXES
    for panel in [Panel(figure, letter, axis, zetas, methods)]
}


@dataclass(frozen=True)
class TableDesign:
    """One experiment on real data: a response, its epsilon, and the reason for choosing it."""

    name: str
    table: str
    title: str
    epsilon: float
    loader: str
    target: str | None
    why: str


TABLES = (
    TableDesign(
        "nci60", "table1", "NCI-60: KRT19 protein", 0.5, "nci60", None,
        "the paper's response; log2 scale as in the source, n = 59",
    ),
    TableDesign(
        "tumour size", "table2", "METABRIC: tumour size", 1.0, "metabric", "clin_tumor_size",
        "a clinical response (the paper names none); it carries little signal",
    ),
    TableDesign(
        "GATA3", "table2", "METABRIC: GATA3 expression", 1.0, "metabric", "expr_GATA3",
        "a gene on the other genes, which can tell methods apart",
    ),
)  # fmt: skip
PARTS = (*PANELS, "table1", "table2")


@dataclass(frozen=True)
class Size:
    """How much of the experiments to run."""

    regimes: tuple[Regime, ...]
    repeats: int
    splits: int
    draws: int


FULL = Size(REGIMES, repeats=20, splits=20, draws=25)
QUICK = Size(QUICK_REGIMES, repeats=3, splits=3, draws=3)
