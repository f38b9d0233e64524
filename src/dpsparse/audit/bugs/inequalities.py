"""Bugs to plant in the inequalities of the accounting: a factor or a term that is lost."""

from dpsparse.audit.bugs.mutation import Mutation
from dpsparse.privacy.accounting import commitment, compose, gdp, release, zcdp
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.mechanisms import gaussian, selection

STEPS = "inequalities"


def _lost(name, function, old, new):
    return Mutation(name, STEPS, {function: [(old, new)]})


_MU = Guarantee.__dict__["mu_per_record"]
_SPENT = Guarantee.epsilon_spent
_COST = commitment.Commitment.cost

INEQUALITIES = (
    _lost("rho once in the conversion", zcdp._epsilon, "alpha * rho", "rho"),
    _lost("log(1/delta) over alpha", zcdp._epsilon, ") / alpha_minus_1", ") / alpha"),
    _lost("the conversion's last term twice", zcdp._epsilon, "- math.log1p", "- 2 * math.log1p"),
    _lost("the square root of delta in the conversion", zcdp._epsilon, "math.log(delta)", "math.log(delta) / 2"),
    _lost("half of rho in the Gaussian account", gdp.with_gaussian, "2 * rho", "rho"),
    _lost("a scale for half the price", gaussian.gaussian_scale, "math.sqrt(2 * rho)", "math.sqrt(4 * rho)"),
    _lost("half of a pick in the Gaussian account", gdp.with_pick, "constant * 2 * rho", "constant * rho"),
    _lost("a pick after nothing", gdp.with_pick, "max(later, (ratio * epsilon0) ** 2)", "later"),
    _lost("a pick of half its parameter", gdp.with_pick, "math.sqrt(8 * rho)", "math.sqrt(2 * rho)"),
    _lost(
        "certificates that nobody verifies",
        gdp.is_certified,
        "return bool(left[0]",
        "return True or bool(left[0]",
    ),
    _lost("a pick's window cut at one end", gdp.is_certified, "for j in range(window + 1):", "for j in range(1):"),
    _lost("pure releases as if bounded-range", gdp.with_pure, "math.pi * rho", "2 * rho"),
    _lost("the slack of one number for all", gdp.discreteness_slack, "count / (20", "1 / (20"),
    _lost("a slack that falls with the cube of the scale", gdp.discreteness_slack, "scale**2)", "scale**3)"),
    _lost("the slack on one side of a pair", gdp.tv_slack_fits, "(1 + math.exp(min(epsilon, 700.0))) * ", ""),
    _lost("delta spent on mu and on the slack", _MU, "(1 - TV_SLACK_SHARE) * self.delta", "self.delta"),
    _lost("a person's mu as a record's", _MU, " / self.records_per_person", ""),
    _lost("a person's rho linear in the records", _SPENT, "m**2 * rho", "m * rho"),
    _lost("a person's pure epsilon as a record's", _SPENT, "m * pure_epsilon", "pure_epsilon"),
    _lost("a person's mu stated as a record's", _SPENT, "epsilon_from_mu(m * mu", "epsilon_from_mu(mu"),
    _lost(
        "a pure epsilon for one record",
        Guarantee.__dict__["pure_epsilon_per_record"],
        "self.epsilon / self.records_per_person",
        "self.epsilon",
    ),
    _lost("the most costly release for all", compose.compose_parallel, "max((math.fsum(prices)", "max((max(prices)"),
    _lost("the cheapest part for all", compose.compose_parallel, "+ max((", "+ min(("),
    _lost(
        "releases before those on parts forgotten",
        compose.releases_per_record,
        "list(common)).append",
        "[]).append",
    ),
    _lost(
        "releases after those on parts forgotten",
        compose.releases_per_record,
        "(common, *by_part.values())",
        "(common,)",
    ),
    _lost(
        "the likeliest failure for all",
        compose.Composition.__dict__["failure_probability"],
        "math.fsum(",
        "max(",
    ),
    _lost("the largest slack for all", compose.Composition.__dict__["tv_slack"], "math.fsum(", "max("),
    _lost("a delta of 0 told to the ledger", _COST, "0.0 if is_pure else", "0.0 if True else"),
    _lost("a slack not told to the ledger", _COST, "composed.tv_slack", "0.0"),
    _lost("a failure not told to the ledger", _COST, "composed.failure_probability", "0.0"),
    _lost("a peeling's pure epsilon without its values", selection.peeling_cost, "3 * sparsity", "2 * sparsity"),
    _lost("a peeling's scale for fewer coordinates", selection.tight_peeling_scale, "2.5 * sparsity", "2.5"),
    _lost("a slot of another kind", release.Mechanism.covers, "type(made) is type(self)", "True"),
    _lost(
        "a slot of a larger pure epsilon", release.Mechanism.covers, "made.pure_epsilon <= self.pure_epsilon", "True"
    ),
    _lost("a slot of a larger slack", release.Mechanism.covers, "made.tv_slack <= self.tv_slack", "True"),
    _lost(
        "a slot of a likelier failure",
        release.Mechanism.covers,
        "made.failure_probability <= self.failure_probability",
        "True",
    ),
    _lost(
        "a slot of another part",
        release.Slot.pays_for,
        "(release.name, release.part) == (self.name, self.part)",
        "release.name == self.name",
    ),
    _lost(
        "a slot of another name",
        release.Slot.pays_for,
        "(release.name, release.part) == (self.name, self.part)",
        "release.part == self.part",
    ),
    _lost(
        "a selection of names without its slack",
        release.PartitionSelection.drawn.__func__,
        "discreteness_slack(scale, size)",
        "0.0",
    ),
    _lost(
        "a selection of names for half its noise",
        release.PartitionSelection.mu_squared,
        "with_gaussian(later, self.rho)",
        "with_gaussian(later, self.rho / 2)",
    ),
)
