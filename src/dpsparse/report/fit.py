"""The report of a fit: guarantee, effects, budget, forecast, how to cite and to re-run.

It reads releases only. A `LinearModel`, what a model file holds, is its one input: no table of records, no path, no
clock, no setting of the machine. So it reveals nothing that the model does not, and the same model gives the
same bytes.
"""

import shlex

from dpsparse import __version__
from dpsparse.algorithms.pursuit.settings import SPARE_PICKS
from dpsparse.html import Page, number, table, tag
from dpsparse.model import remarks
from dpsparse.model.effect import Verdict, effects_table, interval_text, units_table
from dpsparse.model.evaluation import in_words, scores_table
from dpsparse.privacy.guarantee import default_delta
from dpsparse.report.charts import Row, forest
from dpsparse.report.forecast import forecast
from dpsparse.report.purposes import PURPOSE

# The paper's data are those of docs/paper-errata.md.
_BIBTEX = f"""@software{{dpsparse,
  title   = {{dpsparse: differentially private sparse linear regression that survives heavy-tailed responses}},
  author  = {{{{The dpsparse developers}}}},
  version = {{{__version__}}},
  year    = {{2026}}
}}

@inproceedings{{tian2025heavytailed,
  title     = {{Differentially Private Sparse Linear Regression with Heavy-tailed Responses}},
  author    = {{Tian and Ding and Tao and Xiang and Wang}},
  booktitle = {{ECML PKDD}},
  year      = {{2025}},
  eprint    = {{2506.06861}},
  archivePrefix = {{arXiv}}
}}"""


NO_INTERVALS = {False: "The method gives no intervals.", True: "No interval is reliable."}


def fit_page(model):
    """The report of a released model, as HTML.

    Parameters
    ----------
    model : LinearModel
        The model; nothing else is read.

    Returns
    -------
    str
        A self-contained page: no script, and nothing is fetched.
    """
    sparsity = _sparsity(model)
    page = Page(
        f"What explains {model.target}",
        f"{len(model.effects)} of {len(model.features):,} features, from {model.privacy.n_records:,} records, "
        f"{'with a' if model.privacy.private else 'WITHOUT any'} guarantee of privacy. Fitted by {model.estimator}.",
    )
    page.section("Guarantee", *_guarantee(model.privacy))
    page.section("Effects", *_effects(model))
    page.section("Units and predictions", *_units(model))
    page.section("What is significant", *_verdicts(model))
    page.section("Budget", *_budget(model.privacy))
    page.section("Privacy and accuracy", *forecast(model, sparsity))
    page.section("Run it again", *_rerun(model, sparsity))
    page.section("Cite", *_citation())
    return page.html()


def _sparsity(model):
    """The features asked for; with "auto" fewer have been kept."""
    groups = model.privacy.grouped()
    # With records held out the names of the fit's releases begin with its own.
    picks = len(groups.get("pick", groups.get("fit: pick", ())))
    return max(len(model.effects), picks - SPARE_PICKS, 1)


def _guarantee(record):
    if not record.private:
        yield tag("p", record.statement(), class_="guarantee bad")
        yield f"{record.plain_words()} Do not publish this page if the records are real."
        return
    yield tag("p", record.plain_words(), class_="guarantee")
    yield f"In full: {record.statement()}"
    yield (
        "Everything on this page comes from the releases listed under Budget and from public numbers. Whoever has the "
        "page learns no more about anybody than the guarantee allows, and may pass it on."
    )


def _effects(model):
    yield (
        f"How {model.target} changes for a step of 1 of each feature, the others being equal. Effects are shrunk "
        "towards zero according to their errors, for better predictions; intervals are of the effects before shrinkage."
    )
    yield effects_table(model.effects, model.intercept)
    if not model.explains:
        yield tag("p", _as_sentence(remarks.nothing_explained(model)), class_="bad")
    elif model.effects:
        if model.spread_explained:
            yield f"The features explain {remarks.explained(model)}."
        if model.scores is not None:
            yield in_words(model.scores, model.target)
            yield scores_table(model.scores, model.constant_prediction)
        yield from _forest(model)


def _forest(model):
    """The effects on one axis: each for a step of its feature's scale, learned or public; 1 where there is none."""
    public = {feature.name: feature.scale for feature in model.features}
    scales = {effect.feature: effect.scale or public[effect.feature] or 1.0 for effect in model.effects}
    rows, cells = [], []
    for effect in model.effects:
        scale = scales[effect.feature]
        value = (effect.coef if effect.estimate is None else effect.estimate) * scale
        interval = effect.interval and tuple(end * scale for end in effect.interval)
        note = "" if effect.verdict is Verdict.NOT_AVAILABLE else effect.verdict.value
        rows.append(Row(effect.feature, value, interval, effect.verdict is Verdict.SIGNIFICANT, note))
        cells.append([effect.feature, number(scale), number(value), interval_text(interval)])
    floor = model.noise_floor
    words = f"Effects on {model.target}, each for a step as large as the feature's scale"
    band = "" if floor is None else f" The noise floor, the hatched band around 0, reaches to ±{number(floor)}."
    drawn = f"{words}.{band} Read the same numbers in the table below."
    picture = forest(rows, floor, drawn)
    if picture is None:
        yield "The effects are too large or too small to draw."
    else:
        key = (
            "Full dots and lines are significant; hollow dots with dashed lines are not. Lines are 90 % intervals; "
            "a dot without a line has no error that can be trusted."
            if any(row.interval for row in rows)
            else NO_INTERVALS[any(effect.verdict is Verdict.NOT_TRUSTED for effect in model.effects)]
        )
        typical = (
            ""
            if floor is None
            else " It is the smallest significant effect of a feature of typical error; each is judged by its own."
        )
        yield tag("figure", [picture, tag("figcaption", f"{words}. {key}{band}{typical}")])
    headings = ["feature", "one scale", "effect of one scale", "90 % interval"]
    yield table("The numbers of the picture", headings, cells, numbers=(1, 2, 3))


def _units(model):
    """Which units were public and which are releases, and what the effects and predictions mean."""
    learned = units_table(model.effects)
    if learned is not None:
        yield (
            "The fit learned the centres and scales of these features, because they were not given or those given did "
            "not suit. They are releases like the effects, within the same guarantee."
        )
        yield learned
    elif model.effects:
        yield "The centres and scales of all selected features are public numbers, given before the fit."
    if model.lumped:
        yield _as_sentence(remarks.lump(model))
    elif model.cut is not None:
        yield (
            f"Residuals are cut at {number(model.cut)}, in units of {model.target}, in the equation that the effects "
            "solve: outliers count as if they were that far from their prediction."
        )
    if not model.explains:
        yield _as_sentence(remarks.constant(model))
    elif model.prediction_range is not None:
        yield f"Predictions are {remarks.prediction_range(model)}."
    else:
        yield "Predictions have no limits."


def _as_sentence(text):
    return f"{text[0].upper()}{text[1:]}."


def _verdicts(model):
    groups = {verdict: [effect for effect in model.effects if effect.verdict is verdict] for verdict in Verdict}
    significant, not_significant = groups[Verdict.SIGNIFICANT], groups[Verdict.NOT_SIGNIFICANT]
    count = f"{len(model.features):,}"
    if not model.response_scale_known:
        yield tag(
            "p",
            f"Nothing was learned: {remarks.nothing_learned(model)}. So no effect can be significant. More epsilon, "
            "more records, or a public centre and scale of the response would help.",
            class_="bad",
        )
    if not model.effects:
        yield "No effect is significant, and none was kept."
    if significant:
        yield "These effects are significant:"
        yield tag("ul", [tag("li", _sentence(effect, model.target)) for effect in significant])
        yield (
            f"They are significant at the 5 % family-wise level (Bonferroni over {count} features). If no feature had "
            "an effect, only about one fit in twenty would show even one this large."
        )
    elif not_significant:
        yield "No effect is significant."
    if not_significant:
        yield "These are not significant:"
        yield _names(not_significant)
        yield (
            f"Among {count} features without effect one this large is common. They may matter or not: this fit cannot "
            "decide, and the size shown is likely too large."
        )
    if not model.explains:
        yield "No effect is significant: by the releases the features explain nothing."
    elif groups[Verdict.NOT_TRUSTED]:
        yield "The standard errors of these cannot be trusted, so they have neither an interval nor a verdict:"
        yield _names(groups[Verdict.NOT_TRUSTED])
    if groups[Verdict.NOT_AVAILABLE]:
        yield f"{model.estimator} gives no errors, so nothing can be said about what is significant."


def _names(effects):
    return tag("ul", [tag("li", effect.feature) for effect in effects])


def _sentence(effect, target):
    way = "more" if effect.estimate > 0 else "less"
    low, high = sorted(map(abs, effect.interval))
    return (
        f"{effect.feature}: a step of 1 goes with {number(abs(effect.coef))} {way} of {target} (between {number(low)} "
        f"and {number(high)} {way}, with 90 % confidence)."
    )


def _budget(record):
    asked = record.guarantee
    yield (
        f"Asked: epsilon {asked.epsilon:g} and delta {asked.delta:.3g} for a person with "
        f"{'one record' if asked.records_per_person == 1 else f'up to {asked.records_per_person} records'}. Spent: "
        f"epsilon {record.epsilon:.6g}, in {len(record.releases)} releases. Prices are in rho, of zero-concentrated "
        f"differential privacy, which add up; a record paid {record.rho:.4g} in all."
    )
    if any(release.part is not None for release in record.releases):
        yield "Releases on different parts of the records do not add up: a record lies in one part and pays once."
    groups = record.grouped()
    rows = [
        [name, len(made), *record.price(made), PURPOSE.get(name.split(": ")[-1], "")] for name, made in groups.items()
    ]
    yield table("By kind", ["release", "times", "share", "rho", "what it answers"], rows, numbers=(1, 2, 3))
    rows = [
        [
            f"{place}. {release.name}",
            *record.price((release,)),
            *map(number, (release.sensitivity, release.scale)),
            release.mechanism.words,
        ]
        for place, release in enumerate(record.releases, 1)
    ]
    headings = ["release", "share", "rho", "sensitivity", "noise scale", "made private by"]
    yield table("Step by step", headings, rows, numbers=(1, 2, 3, 4))
    yield tag(
        "p",
        "Sensitivity is the most that one record can change the statistic, in its own integer steps; the noise scale "
        f"is in the same steps. Each was charged before it was made. Noise: {record.noise}.",
        class_="note",
    )


def _rerun(model, sparsity):
    """The command, or the line of Python, that makes such a fit."""
    asked = model.privacy.guarantee
    chosen = sparsity if len(model.effects) == sparsity else "auto"
    if model.estimator == "PrivateSparseRegressor" and asked.adjacency == "replace-one" and model.privacy.private:
        options = {"target": model.target, "epsilon": asked.epsilon, "sparsity": chosen}
        if asked.delta != default_delta(model.privacy.n_records):
            options["delta"] = asked.delta
        if asked.records_per_person > 1:
            options["records-per-person"] = asked.records_per_person
        if model.scores is not None:
            options["holdout"] = round(model.scores.n_records / model.privacy.n_records, 3)
        public = any(feature.center is not None or feature.scale is not None for feature in model.features)
        options |= {"bounds": "bounds.toml"} if public else {}
        options |= {"out": "model.json", "report": "report.html"}
        words = [f"--{name} {shlex.quote(str(value))}" for name, value in options.items()]
        store = "; for a store, which has its own bounds, without --bounds" if public else ""
        yield f"With the table of records in the place of DATA{store}:"
        yield tag("pre", tag("code", " \\\n    ".join(["dpsparse fit DATA", *words])))
    else:
        yield "With the records as X and y:"
        most = f", max_sparsity={sparsity}" if chosen == "auto" else ""
        line = f"sparsity={chosen!r}{most}, epsilon={asked.epsilon!r}, delta={asked.delta!r}"
        line += f", adjacency={asked.adjacency!r}, records_per_person={asked.records_per_person}"
        yield tag("pre", tag("code", f"{model.estimator}({line}).fit(X, y)"))
    yield (
        "The public centres and scales of the features, where any were given, are listed in the model file. Another "
        "run draws other noise, so its numbers will differ, and it spends the budget once more: both costs add up."
    )
    yield "This page alone, from the saved model, without the records and at no cost:"
    yield tag("pre", tag("code", "dpsparse report model.json --out report.html"))


def _citation():
    """BibTeX of the software and of the paper."""
    yield (
        "The software, and the paper whose methods it grew from. PrivateSparseRegressor is the software's own method."
    )
    yield tag("pre", tag("code", _BIBTEX))
    yield f"Made by dpsparse {__version__}."
