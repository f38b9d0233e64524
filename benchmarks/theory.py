"""The theorem of docs/theory.md beside simulations: its bound, the plain pursuit that it is about, and the package.

Run ``python benchmarks/theory.py`` (5 minutes on one core, 4 GB): n from 1,000 to 10 million, two tails of the noise.
It writes results/theory.json and docs/img/theory.png.
"""

import json
import math
import warnings
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
from scipy import special

from dpsparse import PrivateSparseRegressor
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.privacy.guarantee import Guarantee

HERE = Path(__file__).parent
RESULTS, PICTURE = HERE / "results" / "theory.json", HERE.parent / "docs" / "img" / "theory.png"
SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
REPEATS = (40, 40, 20, 6, 4)  # of each size
EPSILON = 1.0
ALPHA = 0.05  # the probability with which the bound may fail
CHUNK = 1_000_000  # records that are floating-point numbers at a time


@dataclass(frozen=True)
class Setting:
    """The numbers of the theorem's assumptions, and the privacy budget rho."""

    n: int
    rho: float
    zeta: float = 1.0
    moment: float = 1.0  # v, of order 1 + zeta of the noise
    d: int = 20
    s: int = 2
    clip: float = 1.0  # K, what features are bounded by
    correlation: float = 0.04  # gamma, of any two features
    largest: float = 1.0  # B
    smallest: float = 1.0  # beta_min
    steps: int = 3  # T
    alpha: float = ALPHA

    @property
    def contraction(self):
        """The q of the theorem: by how much a step shortens the distance at least."""
        return (self.s - 1) * self.correlation

    @property
    def residual_moment(self):
        """The M of the theorem, of order 1 + zeta of all residuals that can occur."""
        signal = (24 * self.s * self.largest**2) ** ((1 + self.zeta) / 2)
        return 2**self.zeta * (self.moment + signal)

    @property
    def sampling(self):
        """The L of the theorem, for all features, both clips and all coefficients at once."""
        return math.log(12 * self.d / self.alpha) + self.s * math.log(self.n)

    @property
    def factors(self):
        """P_1 of the stages that select, and P_2 of the last one."""
        reach = math.sqrt(2 * math.log(6 * self.s**2 * self.steps / self.alpha))
        gradient = 2 * math.sqrt(2 * self.steps / self.rho) * reach
        pick = 2 * math.sqrt(self.s / self.rho) * math.log(3 * self.s * self.d / self.alpha)
        plain = 7 / 6 * self.sampling
        return plain + self.s * gradient + pick, plain + math.sqrt(self.s) * gradient

    @property
    def clips(self):
        """tau_1 and tau_2, where residuals are clipped."""
        return tuple((2 * self.residual_moment * self.n / factor) ** (1 / (1 + self.zeta)) for factor in self.factors)

    @property
    def pick_epsilon(self):
        """epsilon_0 of a selection: half of the budget is for s of them, each of price epsilon_0^2 / 8."""
        return math.sqrt(8 * self.rho / (2 * self.s))

    def step_noise(self, stage):
        """Standard deviation of a step's noise: a quarter of the budget is for the last stage, one for those before."""
        last = stage == self.s - 1
        price = self.rho / (4 * self.steps * (1 if last else self.s - 1))
        return 2 * self.clips[last] * self.clip * math.sqrt(stage + 1) / (self.n * math.sqrt(2 * price))

    @property
    def errors(self):
        """omega_1 and omega_2: what a step can be wrong by."""
        phi = (self.clip * tau * factor / self.n for tau, factor in zip(self.clips, self.factors, strict=True))
        rest = 8 * self.clip**2 * self.s * self.largest / self.n
        return tuple(2 * each + rest for each in phi)

    @property
    def holds(self):
        """Whether the theorem's conditions are met."""
        q, mu = self.contraction, 1 - self.contraction
        room = (1 - (2 * self.s - 1) * self.correlation) * self.smallest > 2 * self.errors[0]
        return room and self.steps >= 3 and 18 * self.largest * q**self.steps <= mu * self.smallest

    @property
    def bound(self):
        """The l2 error that all but a share alpha of fits stay below."""
        q = self.contraction
        return math.sqrt(self.s) * (3 * self.largest * q**self.steps + self.errors[1] / (1 - q))


def draw(n, d, s, correlation, df, rng):
    """Features of +-1, any two of this correlation, and responses with effects 1 of the first s and Student's noise."""
    shared = rng.integers(0, 2, (n, 1), dtype=np.int8)
    X = rng.integers(0, 2, (n, d), dtype=np.int8)
    np.copyto(X, shared, where=rng.random((n, d), dtype=np.float32) < math.sqrt(correlation))
    X *= 2
    X -= 1
    return X, X[:, :s].sum(axis=1, dtype=float) + rng.standard_t(df, n)


def scores(X, y, coef, tau, columns=slice(None)):
    """Means of clipped residuals times features."""
    total = 0.0
    for start in range(0, len(y), CHUNK):
        rows = X[start : start + CHUNK].astype(np.float32)
        clipped = np.clip(y[start : start + CHUNK] - rows @ coef.astype(np.float32), -tau, tau)
        total = total + clipped @ rows[:, columns].astype(float)
    return total / len(y)


def plain_pursuit(X, y, setting, rng):
    """The algorithm of the theorem: selections and gradient steps of length 1, in known units."""
    tau_select, tau_last = setting.clips
    sensitivity = 2 * tau_select * setting.clip
    coef, chosen = np.zeros(setting.d), []
    for stage in range(setting.s):
        found = setting.pick_epsilon * setting.n * np.abs(scores(X, y, coef, tau_select)) / (2 * sensitivity)
        found[chosen] = -np.inf
        chosen.append(int(np.argmax(found + rng.gumbel(size=setting.d))))
        tau, noise = tau_last if stage == setting.s - 1 else tau_select, setting.step_noise(stage)
        for _ in range(setting.steps):
            coef[chosen] += scores(X, y, coef, tau, chosen) + noise * rng.standard_normal(len(chosen))
    return coef


def the_package(X, y, setting, delta, seed):
    """`PrivateSparseRegressor` at the same guarantee, in known units."""
    model = PrivateSparseRegressor(
        sparsity=setting.s, estimand="typical", epsilon=EPSILON, delta=delta, random_state=seed, **STANDARDIZED
    )
    return model.fit(X.astype(np.float32), y).coef_


def student_moment(df, order):
    """The absolute moment of Student's law."""
    logs = special.gammaln((order + 1) / 2) + special.gammaln((df - order) / 2) - special.gammaln(df / 2)
    return df ** (order / 2) * math.exp(logs) / math.sqrt(math.pi)


TAILS = {"t2.5": (2.5, 1.0), "t1.6": (1.6, 0.5)}  # degrees of freedom, zeta


def rates(setting, delta):
    """The paper's Theorems 2 and 4 and two lower bounds, with every constant that they leave open set to 1."""
    n, d, s, power = setting.n, setting.d, setting.s, setting.zeta / (1 + setting.zeta)
    log_delta = math.log(1 / delta)
    private = math.sqrt(s) * math.log(d) ** 2 * log_delta / (n * EPSILON)
    return {
        "Theorem 2": math.sqrt(s) * ((math.log(d) / n) ** power + private**power),
        "Theorem 4": s**1.5 * math.log(d) * math.sqrt(log_delta) * math.log(n) / (n * EPSILON),
        "lower, private mean": (1 / (n * EPSILON)) ** power,
        "lower, not private": math.sqrt(s) * (math.log(d) / n) ** power,
    }


def measure(tail, n, repeats):
    """One row: the bound, quantiles of both methods' errors, rates."""
    df, zeta = TAILS[tail]
    delta = n**-1.1
    rho = Guarantee(EPSILON, delta).rho_per_record
    setting = Setting(n, rho, zeta, student_moment(df, 1 + zeta))
    truth = np.append(np.ones(setting.s), np.zeros(setting.d - setting.s))
    plain, package = [], []
    for seed in range(repeats):
        rng = np.random.default_rng([n, seed])
        X, y = draw(n, setting.d, setting.s, setting.correlation, df, rng)
        plain.append(float(np.linalg.norm(plain_pursuit(X, y, setting, rng) - truth)))
        package.append(float(np.linalg.norm(the_package(X, y, setting, delta, seed) - truth)))
    return {
        "tail": tail, "n": n, "rho": rho, "repeats": repeats, "bound": setting.bound, "holds": bool(setting.holds),
        "plain": plain, "package": package, "rates": rates(setting, delta),
    }  # fmt: skip


def picture(rows, path):
    """Errors by n beside the bound, a panel a tail."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    tails = list(dict.fromkeys(row["tail"] for row in rows))
    figure, axes = plt.subplots(1, len(tails), figsize=(5.2 * len(tails), 4.4), layout="constrained", squeeze=False)
    for axis, tail in zip(axes.flat, tails, strict=True):
        part = [row for row in rows if row["tail"] == tail]
        sizes = [row["n"] for row in part]
        axis.plot(sizes, [row["bound"] for row in part], color="black", ls=":", lw=1, label="bound, condition not met")
        held = [row for row in part if row["holds"]]
        axis.plot([r["n"] for r in held], [r["bound"] for r in held], "k-o", ms=4, label="bound, where it holds")
        for name, color, marker in (("plain", "#c0504d", "s"), ("package", "#3b6ea5", "o")):
            label = {"plain": "plain pursuit, the theorem's", "package": "the package"}[name]
            axis.plot(sizes, [np.median(row[name]) for row in part], color=color, marker=marker, ms=4, label=label)
            axis.fill_between(sizes, *zip(*(np.quantile(row[name], [0.05, 0.95]) for row in part), strict=True),
                              color=color, alpha=0.15, lw=0)  # fmt: skip
        for name, style in (("Theorem 2", "--"), ("Theorem 4", "-."), ("lower, private mean", (0, (1, 3))),
                            ("lower, not private", (0, (5, 5)))):  # fmt: skip
            axis.plot(sizes, [row["rates"][name] for row in part], color="0.55", lw=1.2, ls=style, label=name)
        df, zeta = TAILS[tail]
        title = f"Student's noise, {df:g} degrees of freedom ($\\zeta$ = {zeta:g})"
        axis.set(xscale="log", yscale="log", xlabel="records", title=title)
        axis.title.set_fontsize(10)
    axes.flat[0].set_ylabel("l2 error of the effects")
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def line(row):
    """A row as text."""
    plain, package = (np.quantile(row[name], [0.5, 0.95]) for name in ("plain", "package"))
    return (
        f"{row['tail']} n {row['n']:>10,}: bound {row['bound']:.3g}{'' if row['holds'] else ' (conditions not met)'}, "
        f"plain {plain[0]:.3g} (95 %: {plain[1]:.3g}), package {package[0]:.3g} (95 %: {package[1]:.3g})"
    )


def table(rows):
    """The table of docs/theory.md: medians over repeats."""
    lines = ["| records | noise | bound (2) | plain pursuit | the package |", "|---|---|---|---|---|"]
    for row in rows:
        bound = f"{row['bound']:.2g}" if row["holds"] else f"({row['bound']:.2g})"
        errors = " | ".join(f"{np.median(row[name]):.2g}" for name in ("plain", "package"))
        lines.append(f"| {row['n']:,} | {row['tail']} | {bound} | {errors} |")
    return "\n".join(lines)


@click.command()
@click.option("--sizes", default=len(SIZES), show_default=True, help="How many of the sizes, from the smallest on.")
@click.option("--repeats", type=int, help="Repeats of every size; by default fewer of large ones.")
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS)
@click.option("--image", type=click.Path(path_type=Path), default=PICTURE)
def main(sizes, repeats, out, image):
    """Simulate, print, and draw."""
    warnings.simplefilter("ignore")
    rows = []
    for tail in TAILS:
        for n, count in list(zip(SIZES, REPEATS, strict=True))[:sizes]:
            rows.append(measure(tail, n, repeats or count))
            click.echo(line(rows[-1]))
            out.write_text(json.dumps(rows) + "\n")
    picture(rows, image)


if __name__ == "__main__":
    main()
