import inspect
import re
from dataclasses import replace
from html import unescape

import pytest

import dpsparse
from dpsparse import DPIHTH, PrivateSparseRegressor, load_model, plan, save_model
from dpsparse.algorithms.estimates import Estimate
from dpsparse.algorithms.evaluation_sums import Scores
from dpsparse.algorithms.pursuit.schedule import schedule_for
from dpsparse.data.public_units import STANDARDIZED
from dpsparse.datasets import make_heavy_tailed
from dpsparse.families.estimands import MEAN, TYPICAL
from dpsparse.families.robust_linear import RobustLinear
from dpsparse.io.table_features import Feature
from dpsparse.model.context import Budget, FitContext
from dpsparse.model.effect import Effect
from dpsparse.model.remarks import remarks
from dpsparse.model.variables import Variable
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.report.details import PURPOSE
from dpsparse.report.fit_page import fit_page
from dpsparse.report.report_summary import publishable

X, Y, _ = make_heavy_tailed(500, 6, 2, random_state=0)


def words(page):
    """What a reader reads; attributes and style apart."""
    return " ".join(unescape(re.sub("<style>.*?</style>|<[^>]*>", " ", page, flags=re.S)).split())


def test_the_same_model_gives_the_same_bytes(model, tmp_path):
    save_model(model, tmp_path / "model.json")
    assert fit_page(load_model(tmp_path / "model.json")) == fit_page(model)
    assert list(inspect.signature(fit_page).parameters) == ["model"]


def test_the_page_has_everything(model):
    text = words(fit_page(model))
    record = model.privacy
    assert record.plain_words() in text
    assert record.statement() in text
    for release in record.releases:
        assert f". {release.name} " in text
    for part in (
        "smoker 9,000 [8,608, 9,392] <1e-16 significant 8,900",
        "bmi 500 - - not reliable 500",
        "In short The records 1,000 records. Of 5 columns that could explain cost the fit selected 4.",
        "may pass it on",
        "How well it predicts The features explain something",
        "What an effect means The difference in cost between records that differ by 1 in a feature",
        "Effects hold for typical records: a response far from its prediction (further than 3,000)",
        "They say what goes together, not what causes what.",
        "The standard errors of these are not reliable, so they have neither an interval nor a verdict: bmi: too few "
        "records differ in it; more records would help, or a rare category put together with others. Do not publish "
        "their sizes as findings.",
        "smoker 0.4 3,600 [3,443, 3,757] <1e-16",
        "age 15 -1,500 [-1,618, -1,382] <1e-16",
        "Units of the selected features feature centre scale where from smoker 0 0.4 given age 50.25 15 learned",
        "Gaps: the fit refused missing values.",
        "The model does not say when it was fitted",
        "Residuals are clipped at 3,000, in units of cost",
        "Predictions are clipped to [0, 60,000], a released range of cost.",
        "smoker: a one-unit increase is associated with 9,000 higher cost "
        "(between 8,608 and 9,392 higher, with 95 % confidence; p < 1e-16)",
        "age: a one-unit increase is associated with 100 lower cost "
        "(between 92.16 and 107.8 lower, with 95 % confidence; p < 1e-16)",
        "These are not significant: a feature with <b>markup</b> & a name",
        "noise floor, ±250",
        f"a record paid {record.rho:.4g} in all",
        "dpsparse fit DATA \\ --target cost \\ --epsilon 1.0 \\ --sparsity 4 \\ --bounds bounds.toml",
        "for a store, which has its own bounds, without --bounds",
        "dpsparse report model.json --out report.html",
        "2506.06861",
        f"version = {{{dpsparse.__version__}}}",
    ):
        assert part in text


def test_shares_of_the_kinds_add_up_to_the_whole(model):
    page = fit_page(model)
    table = re.search("<caption>By kind</caption>.*?</table>", page, re.S)[0]
    shares = [float(share) for share in re.findall(r">([\d.]+)%<", table)]
    assert sum(shares) == pytest.approx(100, abs=0.05 * len(shares))


def test_the_curve_is_that_of_plan_with_this_fit_marked(model):
    text = words(fit_page(model))
    # A model that names no estimand has effects on the typical response.
    forecast = plan(1_000, 5, 4, 1.0, estimand="typical")
    assert f"1 (this fit) {forecast.expected_error:.3g} {forecast.smallest_effect:.3g}" in text
    assert "Selected: the effect that is selected in 4 fits of 5. Detectable: the minimum detectable effect" in text
    assert "this fit: 1" in text


def test_names_are_escaped_everywhere(model):
    page = fit_page(replace(model, target='<img src="x" onerror="y">'))
    assert "<img" not in page
    assert "<b>" not in page
    assert '--target \'<img src="x" onerror="y">\'' in words(page)


def test_methods_without_errors_say_so():
    fitted = DPIHTH(sparsity=2, epsilon=1.0, delta=1e-4, adjacency="zero-out-one").fit(X, Y)
    text = words(fit_page(fitted.released_))
    assert "DPIHTH gives no errors" in text
    assert "The method gives no intervals" in text
    assert "a record lies in one part and pays once" in text
    assert "DPIHTH, which made the model, does worse" in text
    assert "adjacency='zero-out-one', records_per_person=1).fit(X, y)" in text
    assert "noise floor" not in text


@pytest.mark.filterwarnings("ignore:With n=500")
def test_a_seeded_fit_guarantees_nothing():
    fitted = PrivateSparseRegressor(sparsity="auto", max_sparsity=3, epsilon=0.01, random_state=0, **STANDARDIZED).fit(
        X, Y
    )
    text = words(fit_page(fitted.released_))
    assert "WITHOUT any guarantee" in text
    assert "NOT PRIVATE" in text
    assert "may pass it on" not in text
    assert "sparsity='auto', max_sparsity=3" in text


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"effects": ()}, "No effect was kept"),
        ({"response_scale_known": False, "effects": ()}, "Nothing was learned: the response's scale could not be"),
        (
            {"response_scale_known": False, "reason": "too few records"},
            "What matters Too few records. Effects and predictions are guesses, near the truth or far from it: do not "
            "rely on them. So no effect could be tested.",
        ),
        (
            {"response_scale_known": False, "explains": False, "reason": "All but a few responses are equal."},
            "Nothing was learned: All but a few responses are equal; predictions are the constant 1,234. So no effect",
        ),
        (
            {"explains": False, "reason": "the effects are smaller than their errors"},
            "The private estimates show no predictive value (the effects are smaller than their errors); predictions "
            "are the constant 1,234.",
        ),
        (
            {"response_scale_known": False},
            "How well it predicts The response's scale could not be learned, so nothing can be said about how near",
        ),
        (
            {"response_scale_known": False, "nearly_exact": True, "reason": "the fit fits"},
            "What matters The fit fits. Is cost computed from the features? These effects are significant:",
        ),
        ({"lumped": True}, "Many values of cost are equal, so its scale was learned from the others."),
        ({"lumped": True}, "Residuals are clipped at a distance of 3,000 from the prediction"),
        ({"prediction_range": None}, "Predictions have no limits."),
        (
            {"left_out": {"steps": "unit wrong"}},
            "the fit selected 4. Left out: of the selected features 'steps', whose released centre or scale is clearly "
            "wrong (public numbers, more records or a larger epsilon would help).",
        ),
        (
            {"median_shift": -3_200.0, "response_scale": 3_000.0},
            "About half of the values of cost lie below the prediction less 3,200; predict with the statistic",
        ),
        ({"explains": False}, "How well it predicts The private estimates show no predictive value"),
        ({"cut": None}, "Predictions are clipped"),
        ({"effects": (Effect("age", 1e308, 1e308, 1e308, clear=True),)}, "too large or too small to draw"),
        ({"effects": (Effect("age", 1.0, clear=True),)}, "gives no errors"),
        ({"noise_floor": None}, "95 % intervals"),
    ],
)
def test_odd_models_have_a_report_too(model, change, sentence):
    assert sentence in words(fit_page(replace(model, **change)))


@pytest.mark.slow
@pytest.mark.parametrize("known", ["all", "none"])
@pytest.mark.parametrize("n", [300, 5_000, 100_000])
@pytest.mark.parametrize("estimand", [MEAN, TYPICAL])
def test_every_release_of_a_fit_has_a_purpose(known, n, estimand):
    family = RobustLinear(estimand=estimand)
    schedule = schedule_for(Guarantee(1.0, 1e-6), n, 40, 5, units_known=known, family=family)
    assert {slot.group for slot in schedule.slots()} <= set(PURPOSE)


@pytest.mark.slow
def test_a_report_says_what_effects_are_of():
    X, y, _ = make_heavy_tailed(10_000, 4, 2, random_state=0)

    def read(n, estimand):
        options = {"sparsity": 2, "epsilon": 2.0, "random_state": 0, **STANDARDIZED}
        model = PrivateSparseRegressor(estimand=estimand, **options).fit(X[:n], y[:n])
        return words(fit_page(model.released_)), " ".join(model.summary().split())

    page, text = read(10_000, "mean")
    assert "How the mean of y changes per one-unit increase" in page
    assert "every record counts in full, extreme ones too" in page
    assert "typical records" not in page
    assert "--estimand mean" in page or "estimand='mean'" in page
    assert "Effects: on the mean of y, as least squares (OLS) gives them" in text
    page, text = read(10_000, "typical")
    assert "How the typical y changes per one-unit increase" in page
    assert "counts as if it were no further" in page
    assert "Effects: on the typical y, as Huber's robust regression gives them" in text
    # Too small for the step: effects are not those of least squares, and nobody says so.
    page, text = read(500, "mean")
    assert "Effects: on the mean" not in text
    assert "effects on a mean cannot be had from this many records at this epsilon" in text
    assert "How y changes per one-unit increase" in page
    assert "near those of Huber's robust regression" in read(500, "typical")[1]


def test_a_model_that_explains_nothing_is_not_drawn(model):
    text = words(fit_page(replace(model, explains=False)))
    assert "The numbers of the picture" not in text
    assert "The private estimates show no predictive value, so no effect could be tested." in text
    assert "No effect is significant" not in text
    assert "are not reliable" not in text
    assert "What an effect means" not in text


@pytest.mark.parametrize("n_records", [1, 2**53 - 1])
@pytest.mark.parametrize("guarantee", [(1e-10, 5e-324, "replace-one", 2**53 - 1), (1e10, 0.999, "replace-one", 1)])
def test_absurd_guarantees_have_a_report(model, guarantee, n_records):
    record = replace(model.privacy, guarantee=Guarantee(*guarantee), n_records=n_records)
    assert "(this fit)" in words(fit_page(replace(model, privacy=record)))


def test_without_public_units_the_command_needs_no_bounds(model):
    unknown = replace(model, features=tuple(replace(each, center=None, scale=None) for each in model.features))
    text = words(fit_page(unknown))
    assert "--sparsity 4 \\ --out model.json" in text
    assert "--bounds" not in text
    # A learned scale is the step of the picture; without any it is 1.
    assert "age 15 -1,500" in text
    assert "smoker 1 9,000" in text


def test_all_units_public(model):
    given = replace(model, effects=tuple(replace(effect, center=None, scale=None) for effect in model.effects))
    text = words(fit_page(given))
    assert "15 learned" not in text
    assert "smoker 0 0.4 given age - - not needed" in text


CATEGORIES = (
    Feature("region", category="east", baseline="north", kind="text"),
    Feature("sector", kind="text", buckets=(7,), label="private"),
    Feature("sector", kind="text", buckets=(7,), other=True),
    Feature("age", kind="number", fill=40.0),
    Feature("age", kind="number", missing=True),
    Feature("region", kind="text", missing=True),
    Feature("smoker", kind="boolean"),
    Feature("joined", kind="date_ymd"),
)


@pytest.fixture
def of_cells(model):
    """A model of a raw table, with every kind of feature."""
    effects = tuple(Effect(each.name, 2.0, 2.0, 0.1, clear=True) for each in CATEGORIES)
    baselines = {"region": "north"}
    return replace(model, features=CATEGORIES, effects=effects, baselines=baselines)


def test_effects_say_what_a_step_is(of_cells):
    text = words(fit_page(of_cells))
    more = "is associated with 2 higher cost (between 1.804 and 2.196 higher, with 95 % confidence; p < 1e-16)."
    for step in (
        "region=east: compared with the baseline 'north' and categories not selected, it",
        "sector=private: compared with the baseline and categories not selected, it",
        "age: a one-unit increase",
        "age (gap): a missing cell, compared with a typical value,",
        "region (gap): a missing cell, compared with the baseline 'north' and categories not selected,",
        "smoker: yes, compared with no,",
        "joined: a day later",
    ):
        assert f"{step} {more}" in text
    assert "A feature such as region=east is 1 for records in that category and 0 for others: its effect is the" in text
    for column, against in (("age", "a typical value"), ("region", "the baseline 'north' and categories not selected")):
        gap = tuple(each for each in of_cells.effects if each.feature == f"{column} (gap)")
        text = words(fit_page(replace(of_cells, effects=gap)))
        what = "is 1 where the cell is missing: its effect is the difference from"
        assert f"A feature such as '{column} (gap)' {what} {against}." in text


def test_a_summary_says_what_the_numbers_of_dates_are(of_cells):
    told = "Dates: 'joined' is the number of days since 1970-01-01: its effect is that of a day later."
    assert told in " ".join(of_cells.summary().split())
    undated = tuple(each for each in of_cells.effects if each.feature != "joined")
    assert "Dates" not in replace(of_cells, effects=undated).summary()


def test_a_summary_says_what_0_and_1_effects_compare(of_cells):
    (told,) = [text for heading, text in remarks(of_cells) if heading == "Baselines"]
    north = "the baseline 'north' and categories not selected"
    assert told.split("; ") == [
        f"'region=east' is compared with {north}",
        "'sector=private', 'sector (another value)' are compared with the baseline and categories not selected",
        "'age (gap)' compares a missing cell with a typical value",
        f"'region (gap)' compares a missing cell with {north}",
        "'smoker' compares yes with no",
    ]
    assert "Baselines: 'region=east' is compared with" in of_cells.summary()
    # What a variable of several effects is against, its own remark says.
    region = Variable("region", ("region=east",), 0.01, True, ("region (gap)",))
    (told,) = [text for heading, text in remarks(replace(of_cells, variables=(region,))) if heading == "Baselines"]
    assert "region" not in told


def test_a_paragraph_on_means_does_not_speak_of_typical_cases(model):
    of_means, of_typical = (publishable(replace(model, estimand=name)) for name in ("mean", "typical"))
    assert "by a sparse regression on 5 features" in of_means
    assert "associations of means" in of_means
    assert "typical" not in of_means
    assert "by a robust sparse regression" in of_typical
    assert "associations in typical cases" in of_typical


def test_features_of_text_without_a_name_are_explained(of_cells):
    rare = Feature("ward", kind="text", buckets=(9,), rank=4)
    effects = (*of_cells.effects, Effect(rare.name, 2.0, 2.0, 0.1, clear=True))
    text = words(fit_page(replace(of_cells, features=(*of_cells.features, rare), effects=effects)))
    for part in (
        "The feature 'sector (another value)' is 1 for any text too rare to be a category of its own at this epsilon",
        "The feature 'ward (unnamed value 4)' is 1 for a text too rare to be named at this epsilon, and 0 for others.",
        "If the categories of 'sector', 'ward' are publicly known, give them in a bounds file",
    ):
        assert part in text
    named = replace(of_cells, effects=tuple(each for each in of_cells.effects if "another" not in each.feature))
    assert "too rare to be" not in words(fit_page(named))


def test_one_paragraph_is_fit_to_publish(model, of_cells):
    text, record = publishable(model), model.privacy
    assert text.count("95 % confidence; p ") == 2
    assert (
        "smoker: a one-unit increase is associated with 9,000 higher cost (between 8,608 and 9,392 higher, with 95 %"
        in text
    )
    assert "in 1,000 records" in text
    assert "bmi" not in text
    assert f"(1, {record.delta:.2g})-differentially private for each person" in text
    assert "not causes" in text
    assert publishable(of_cells).count("95 % confidence; p ") == len(of_cells.effects)
    weak = replace(model, effects=model.effects[2:3])
    assert "No effect is significant." in publishable(weak)
    # Nothing to publish.
    for nothing in ({"response_scale_known": False}, {"effects": ()}, {"privacy": replace(record, private=False)}):
        assert publishable(replace(model, **nothing)) is None


def test_details_tell_baselines_and_gaps(of_cells):
    text = words(fit_page(of_cells))
    assert "region north the baseline sector not released 'another value', a category of its own" in text
    assert "Gaps: a missing number counted as a typical one" in text
    assert "Filled gaps column public number age 40" in text
    assert "Text not used" not in text
    unused = {"name": "many values", "ward": "none common"}
    gaps = (*of_cells.features, Feature("name", kind="text", missing=True))
    names = replace(of_cells, features=gaps, text_unused=unused)
    told = words(fit_page(names))
    assert "Text not used: 'name', with too many different values for categories, as identifiers and free" in told
    assert "Text not used: 'ward', where no value is common enough to be used with this many records" in told
    n_columns, n_features = len({each.column for each in names.features}), len(names.features)
    assert f"Of {n_columns} columns that could explain cost" in words(fit_page(names))
    assert f"With categories and gaps, the columns make {n_features} features." in words(fit_page(names))


def test_details_tell_the_date_and_what_is_left(model):
    budget = Budget("budget.db", "trial-7", 3.0, 1e-6, 1.5, 2.25, 2)
    assert "It was charged to no ledger" in words(fit_page(replace(model, context=FitContext("2026-01-31"))))
    text = words(fit_page(replace(model, context=FitContext("2026-01-31", budget))))
    assert "Fitted on 2026-01-31 (UTC)." in text
    assert (
        "trial-7 in budget.db: 2 fits together have spent epsilon 1.5 of 3 granted (delta 1e-06); one more fit" in text
    )
    assert "by day" not in text
    over_days = replace(budget, history=(("2026-01-02", 0.0), ("2026-01-05", 1.0), ("2026-01-31", 1.5)))
    drawn = fit_page(replace(model, context=FitContext("2026-01-31", over_days)))
    assert "Epsilon spent by all fits together, at delta 1e-06, by day: 1.5 of 3 granted on 2026-01-31." in words(drawn)
    picture = drawn[drawn.index('aria-label="Epsilon spent') :]
    places = [float(x) for x in re.findall(r'<circle cx="([\d.]+)%', picture[: picture.index("</svg>")])]
    assert places == pytest.approx([13, 13 + 82 * 3 / 29, 95], abs=0.001)


def test_to_run_it_again_is_charged_to_the_same_ledger(model):
    context = FitContext("2026-01-31", Budget("budget.db", "trial 7", 3.0, 1e-6, 1.5, 2.25, 2))
    text = words(fit_page(replace(model, context=context)))
    assert "DATA and the path or URL of the ledger budget.db in the place of LEDGER; for a store" in text
    assert "--bounds bounds.toml \\ --ledger LEDGER \\ --dataset 'trial 7' \\ --out model.json" in text
    assert "it spends the budget once more" in text
    other = words(fit_page(replace(model, estimator="DPIHTH", context=context)))
    assert "With the data as X and y, and the ledger budget.db as LEDGER: DPIHTH(" in other
    assert ", ledger=LEDGER, dataset='trial 7').fit(X, y)" in other
    assert "LEDGER" not in words(fit_page(model))


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (40.0, 60.0, "Predictions are better than the constant: nearer to cost by 40 to 60 on average."),
        (-1.0, 3.0, "These records do not show whether predictions are better than the constant."),
    ],
)
def test_the_summary_tells_how_well_it_predicts(model, low, high, verdict):
    improvement = Estimate(value=(low + high) / 2, standard_error=6.0, low=low, high=high, cut=0.01)
    scores = Scores(
        n_records=200,
        n_responses=198.0,
        cut=900.0,
        bound=500.0,
        model=Estimate(value=150.0, standard_error=6.0, low=140.0, high=160.0, cut=0.02),
        constant=Estimate(value=210.0, standard_error=12.0, low=190.0, high=230.0, cut=0.05),
        improvement=improvement,
        r2=Estimate(value=0.4, standard_error=0.05, low=0.3, high=0.5, cut=0.05),
    )
    text = words(fit_page(replace(model, scores=scores, constant=70.0, spread_explained=0.25)))
    assert "The features explain about 25 % of the spread of cost" in text
    assert (
        "On 200 records that were held out, predictions are off by 150 on average, and the constant 70 by 210; errors "
        f"count up to 900. {verdict} With errors up to 900, R² against the constant is 0.4 (between 0.3 and 0.5, with "
        "95 % confidence); with errors in full it may be far lower."
    ) in text
    assert "R², errors up to 900 0.4 [0.3, 0.5] 5.0%" in text
    assert "min(|error|, 900), model 150 [140, 160] 2.0%" in text
    # The effects come from the other records.
    assert "from public numbers alone, for 800 records" in text


def test_what_cannot_be_trusted_has_no_interval_anywhere(model):
    doubtful = replace(model.effects[0], trusted=False)
    page = fit_page(replace(model, effects=(doubtful,)))
    for end in ("8,671", "9,329", "3,468", "3,732"):
        assert end not in page
    assert "neither an interval nor a verdict: smoker" in words(page)
