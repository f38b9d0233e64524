"""Bugs to plant in the privacy core: its noise, its sensitivities, its account."""

from dpsparse.audit.bugs.mutation import Mutation
from dpsparse.estimators import _private
from dpsparse.privacy import noise, sensitivity
from dpsparse.privacy.accounting import commitment, filter, gdp, meter
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.ledger import events as ledger_events
from dpsparse.privacy.ledger import ledger
from dpsparse.privacy.mechanisms import gaussian as release
from dpsparse.privacy.mechanisms import selection

PURSUITS, LOOPS = "replay of pursuits", "replay of loops"
_REPLACED = "(2 if _replaced(adjacency) else 1) * "

NOISE = (
    Mutation(
        "score noise halved",
        PURSUITS,
        {selection.exponential_pick: [("pick_index(scores, rate,", "pick_index(scores, 2 * rate,")]},
    ),
    Mutation(
        "Gaussian noise halved",
        "mechanism games",
        {release.release_vector: [("meter.source.gaussian(sums, scale)", "meter.source.gaussian(sums, scale / 2)")]},
    ),
    Mutation(
        "noise halved inside the secure source",
        "sources",
        {noise.SecureSource._add: [("float(scale)", "float(scale) / 2")]},
    ),
    Mutation(
        "noise in steps of two",
        "floating point",
        {
            noise.SecureSource._add: [
                ("float(scale))(np.asarray(values, dtype=np.int64).tolist())", "float(scale) / 2)([0] * len(values))"),
                ("np.asarray(noisy, dtype=np.int64)", "2 * np.asarray(noisy, dtype=np.int64) + values"),
            ]
        },
    ),
    Mutation(
        "a pick charged eps0^2/16",
        PURSUITS,
        {selection.exponential_pick: [("math.sqrt(8 * rho)", "math.sqrt(16 * rho)")]},
    ),
    Mutation(
        "a Laplace pick charged as bounded-range",
        LOOPS,
        {selection.peeling_cost: [("2.5 * sparsity * ratio**2", "1.0 * sparsity * ratio**2")]},
    ),
    Mutation(
        "off-diagonal noise halved",
        PURSUITS,
        {release.release_gram: [("scale / math.sqrt(2)", "scale / math.sqrt(8)")]},
    ),
    Mutation(
        "both triangles drawn",
        PURSUITS,
        {
            release.release_gram: [
                ("noisy += noisy.T", "noisy[columns, rows] = meter.source.gaussian(gram[rows, columns], off_diagonal)")
            ]
        },
    ),
    Mutation(
        "charged after the release",
        PURSUITS,
        {
            release.release_vector: [
                ("meter.charge(", "drawn = meter.source.gaussian(sums, scale)\n    meter.charge("),
                ("NoisyRelease(meter.source.gaussian(sums, scale),", "NoisyRelease(drawn,"),
            ]
        },
    ),
    Mutation(
        "a coordinate picked twice (peeling)",
        LOOPS,
        {selection.peel: [("noisy[support] = np.iinfo(np.int64).min", "pass")]},
    ),
    Mutation(
        "picks take the largest score",
        "mechanism games",
        {selection.pick_index: [("if source.noiseless:", "if True:")]},
    ),
    Mutation(
        "a seed reaching the secure source",
        "sources",
        {_private.PrivateEstimator._noise_source: [("return SecureSource()", "return SeededSource(0)")]},
    ),
    Mutation(
        "the bits of picks repeat",
        "sources",
        {noise.SecureSource.bits: [("secrets.randbits(count)", "int(np.random.default_rng(0).integers(2**31))")]},
    ),
)

SENSITIVITIES = (
    Mutation(
        "gradient sensitivity tau C/n",
        PURSUITS,
        {sensitivity.bounded_norm_sum: [(_REPLACED + "norm_bound", "norm_bound")]},
    ),
    Mutation(
        "the 2 of replace-one forgotten",
        LOOPS,
        {sensitivity.clipped_sum: [(_REPLACED + "feature_levels", "feature_levels")]},
    ),
    Mutation("the Gram's sqrt 2 dropped", PURSUITS, {sensitivity.gram: [("math.sqrt(2) if", "1 if")]}),
    Mutation(
        "quantile sensitivity halved",
        PURSUITS,
        {
            release.release_quantile: [
                ("quantile_utility(meter.guarantee.adjacency)", "quantile_utility(meter.guarantee.adjacency) / 2")
            ]
        },
    ),
)

ACCOUNTS = (
    Mutation(
        "accounting in the wrong order",
        "accounts",
        {gdp.mu_of_sequence: [("in reversed(prices)", "in prices")]},
    ),
    Mutation(
        "the unsafe end of a root",
        "accounts",
        {gdp.largest_mu: [("return low", "return high")]},
    ),
    Mutation(
        "the unsafe end of a root, epsilon",
        "accounts",
        {gdp.epsilon_from_mu: [("return high", "return low")]},
    ),
    Mutation(
        "releases on all rows composed as if on parts",
        "accounts",
        {commitment.total: [("math.fsum(common)", "max(common, default=0.0)")]},
    ),
    Mutation(
        "a sequence committed to that the guarantee does not cover",
        "accounts",
        {meter.Meter.commit: [("if not commitment.is_within(self.guarantee):", "if False:")]},
    ),
    Mutation(
        "other releases than those committed to",
        "accounts",
        {meter.Meter._is_committed: [("(made.kind, made.rho, made.part) ==", "() !=")]},
    ),
    Mutation(
        "coarse noise on the tight account",
        "accounts",
        {gdp.discrete_excess: [("math.inf if scale < 4 else count / (20 * scale**2)", "0.0")]},
    ),
    Mutation(
        "the cheapest of disjoint parts charged",
        "accounts",
        {commitment.Commitment.__dict__["mu"]: [("max(map(", "min(map(")]},
    ),
    Mutation(
        "group privacy linear in rho",
        "accounts",
        {Guarantee.__dict__["rho_per_record"]: [("self.records_per_person**2", "self.records_per_person")]},
    ),
)

LEDGER = (
    Mutation(
        "the ledger charged after the release",
        "ledger",
        {
            meter.Meter.charge: [("self._reservation.charge()", "pass")],
            meter.Meter.record: [
                ("return PrivacyRecord(", "self._reservation and self._reservation.charge()\n    return PrivacyRecord(")
            ],
        },
    ),
    Mutation(
        "a charge refunded when a fit dies",
        "ledger",
        {
            ledger.Reservation.charge: [
                ("self._charged = True", "pass"),
                ('"charge", "charged"', '"refund", "refunded"'),
            ],
        },
    ),
    Mutation(
        "an event's digest unchecked",
        "ledger",
        {ledger_events.LedgerState._read: [("event.digest == event.expected_digest()", "True")]},
    ),
    Mutation(
        "a chain's links unchecked",
        "ledger",
        {
            ledger_events.LedgerState._read: [
                ("event.previous == self.head", "True"),
                ("event.number != number", "False"),
            ]
        },
    ),
    Mutation(
        "the Gaussian account adds mu to the power of three",
        "ledger",
        {filter.PrivacyFilter._share: [("cost.mu**2 for", "cost.mu**3 for")]},
    ),
    Mutation(
        "the excess of discrete noise not added up",
        "ledger",
        {filter.PrivacyFilter._share: [("math.fsum(cost.excess for cost in costs)", "max(c.excess for c in costs)")]},
    ),
    Mutation(
        "a person's records forgotten by the ledger",
        "ledger",
        {commitment.Commitment.cost: [("m**2 * self.rho, m * self.mu", "self.rho, self.mu")]},
    ),
    Mutation(
        "any account admits",
        "ledger",
        {
            filter.PrivacyFilter.admits: [
                (
                    "self._share(self.account_with(cost), (*self.costs, cost)) <= 1",
                    "any(self._share(account, (cost,)) <= 1 for account in ACCOUNTS)",
                )
            ]
        },
    ),
)
