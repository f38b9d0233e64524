"""Bugs to plant in the inequalities of the accounting: a factor or a term that is lost."""

from planting import Bug

STEPS = "inequalities"


def _lost(name, function, old, new):
    return Bug(name, STEPS, {function: [(old, new)]})


INEQUALITIES = (
    _lost("rho once in the conversion", "privacy.accounting.zcdp:_epsilon", "alpha * rho", "rho"),
    _lost("log(1/delta) over alpha", "privacy.accounting.zcdp:_epsilon", ") / alpha_minus_1", ") / alpha"),
    _lost("the conversion's last term twice", "privacy.accounting.zcdp:_epsilon", "- math.log1p", "- 2 * math.log1p"),
    _lost(
        "the square root of delta in the conversion",
        "privacy.accounting.zcdp:_epsilon",
        "math.log(delta)",
        "math.log(delta) / 2",
    ),
    _lost("half of rho in the Gaussian account", "privacy.accounting.gdp:with_gaussian", "2 * rho", "rho"),
    _lost(
        "a scale for half the price",
        "privacy.mechanisms.gaussian:gaussian_scale",
        "math.sqrt(2 * rho)",
        "math.sqrt(4 * rho)",
    ),
    _lost(
        "half of a pick in the Gaussian account",
        "privacy.accounting.gdp:with_pick",
        "constant * 2 * rho",
        "constant * rho",
    ),
    _lost("a pick after nothing", "privacy.accounting.gdp:with_pick", "max(later, (ratio * epsilon0) ** 2)", "later"),
    _lost(
        "a pick of half its parameter", "privacy.accounting.gdp:with_pick", "math.sqrt(8 * rho)", "math.sqrt(2 * rho)"
    ),
    _lost(
        "certificates that nobody verifies",
        "privacy.accounting.gdp:is_certified",
        "return bool(left[0]",
        "return True or bool(left[0]",
    ),
    _lost(
        "a pick's window cut at one end",
        "privacy.accounting.gdp:is_certified",
        "for j in range(window + 1):",
        "for j in range(1):",
    ),
    _lost("pure releases as if bounded-range", "privacy.accounting.gdp:with_pure", "math.pi * rho", "2 * rho"),
    _lost("the slack of one number for all", "privacy.accounting.gdp:discreteness_slack", "math.sqrt(count)", "1"),
    _lost(
        "a slack that falls with the cube of the scale",
        "privacy.accounting.gdp:discreteness_slack",
        "scale**2)",
        "scale**3)",
    ),
    _lost(
        "the slack on one side of a pair",
        "privacy.accounting.gdp:tv_slack_fits",
        "(1 + math.exp(min(epsilon, 700.0))) * ",
        "",
    ),
    _lost(
        "delta spent on mu and on the slack",
        "privacy.guarantee:Guarantee.mu_per_record",
        "(1 - TV_SLACK_SHARE) * self.delta",
        "self.delta",
    ),
    _lost(
        "a person's mu as a record's",
        "privacy.guarantee:Guarantee.mu_per_record",
        "self.protects.mu_of_a_record(mu)",
        "mu",
    ),
    _lost(
        "a person's rho linear in the records",
        "privacy.guarantee:Guarantee.epsilon_spent",
        "person.rho(rho)",
        "person.epsilon(rho)",
    ),
    _lost("the rho of a group linear", "privacy.protection:RecordsOfAPerson.rho", "self.most**2", "self.most"),
    _lost("the mu of a group that of a record", "privacy.protection:RecordsOfAPerson.mu", "self.most * ", ""),
    _lost("the epsilon of a group that of a record", "privacy.protection:RecordsOfAPerson.epsilon", "self.most * ", ""),
    _lost(
        "a person's pure epsilon as a record's",
        "privacy.guarantee:Guarantee.epsilon_spent",
        "person.epsilon(pure_epsilon)",
        "pure_epsilon",
    ),
    _lost(
        "a person's mu stated as a record's",
        "privacy.guarantee:Guarantee.epsilon_spent",
        "epsilon_from_mu(person.mu(mu)",
        "epsilon_from_mu(mu",
    ),
    _lost(
        "a pure epsilon for one record",
        "privacy.guarantee:Guarantee.pure_epsilon_per_record",
        "self.protects.epsilon_of_a_record(self.epsilon)",
        "self.epsilon",
    ),
    _lost(
        "the most costly release for all",
        "privacy.accounting.compose:compose_parallel",
        "max((math.fsum(prices)",
        "max((max(prices)",
    ),
    _lost("the cheapest part for all", "privacy.accounting.compose:compose_parallel", "+ max((", "+ min(("),
    _lost(
        "releases before those on parts forgotten",
        "privacy.accounting.compose:releases_per_record",
        "list(common)).append",
        "[]).append",
    ),
    _lost(
        "releases after those on parts forgotten",
        "privacy.accounting.compose:releases_per_record",
        "(common, *by_part.values())",
        "(common,)",
    ),
    _lost(
        "the likeliest failure for all",
        "privacy.accounting.compose:Composition.failure_probability",
        "math.fsum(",
        "max(",
    ),
    _lost("the largest slack for all", "privacy.accounting.compose:Composition.tv_slack", "math.hypot(*(", "max(("),
    _lost(
        "a delta of 0 told to the ledger",
        "privacy.accounting.meter:Commitment.cost",
        "0.0 if is_pure else",
        "0.0 if True else",
    ),
    _lost("a slack not told to the ledger", "privacy.accounting.meter:Commitment.cost", "composed.tv_slack", "0.0"),
    _lost(
        "a failure not told to the ledger",
        "privacy.accounting.meter:Commitment.cost",
        "composed.failure_probability",
        "0.0",
    ),
    _lost(
        "a peeling's pure epsilon without its values",
        "privacy.mechanisms.selection:peeling_cost",
        "3 * sparsity",
        "2 * sparsity",
    ),
    _lost(
        "a peeling's scale for fewer coordinates",
        "privacy.mechanisms.selection:tight_peeling_scale",
        "2.5 * sparsity",
        "2.5",
    ),
    _lost("a slot of another kind", "privacy.accounting.release:Mechanism.covers", "type(made) is type(self)", "True"),
    _lost(
        "a slot of a larger pure epsilon",
        "privacy.accounting.release:Mechanism.covers",
        "made.pure_epsilon <= self.pure_epsilon",
        "True",
    ),
    _lost(
        "a slot of a larger slack",
        "privacy.accounting.release:Mechanism.covers",
        "made.tv_slack <= self.tv_slack",
        "True",
    ),
    _lost(
        "a slot of a likelier failure",
        "privacy.accounting.release:Mechanism.covers",
        "made.failure_probability <= self.failure_probability",
        "True",
    ),
    _lost(
        "a slot of another part",
        "privacy.accounting.release:Slot.pays_for",
        "(release.name, release.part) == (self.name, self.part)",
        "release.name == self.name",
    ),
    _lost(
        "a slot of another name",
        "privacy.accounting.release:Slot.pays_for",
        "(release.name, release.part) == (self.name, self.part)",
        "release.part == self.part",
    ),
    _lost(
        "a selection of names without its slack",
        "privacy.accounting.release:PartitionSelection.drawn",
        "discreteness_slack(scale, size)",
        "0.0",
    ),
    _lost(
        "a selection of names for half its noise",
        "privacy.accounting.release:PartitionSelection.mu_squared",
        "with_gaussian(later, self.rho)",
        "with_gaussian(later, self.rho / 2)",
    ),
)
