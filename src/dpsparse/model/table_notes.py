"""The footnotes of a table of effects: what effects are of, marks, doubts, guarantees."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from dpsparse.inference.inference_constants import FAMILY_WISE_LEVEL
from dpsparse.model.doubts import doubtful
from dpsparse.model.effect import INTERVAL_HEADING, Verdict
from dpsparse.model.meaning import estimand_of
from dpsparse.model.remarks import products
from dpsparse.model.two_part_words import BESIDE_PARTS
from dpsparse.model.unnamed_values import not_shown, not_shown_words

if TYPE_CHECKING:
    from dpsparse.model.released import LinearModel

# Behind an effect that is significant, behind one that is not reliable, and behind the p-value of a variable that has
# such a one.
SIGNIFICANT, NOT_RELIABLE, WITHOUT = "*", "†", "‡"


def notes(models: Sequence["LinearModel"], shown: Sequence["LinearModel"], headings: Sequence[str]) -> list[str]:
    """Footnotes; each once, with the headings of its columns where it is not of all.

    `models` are those that were fitted, `shown` those with a column of their own, which may be parts of one.
    """
    texts, left_out = [], not_shown(shown)
    kinds = (
        (_meaning, models),
        (_significance, shown),
        (partial(_doubts, left_out=left_out), shown),
        (_tested, shown),
        (_guarantee, models),
    )
    for text_of, columns in kinds:
        by_text: dict[str, list[str]] = {}
        for model, heading in zip(columns, headings, strict=False):
            by_text.setdefault(text_of(model), []).append(heading)
        texts += [
            text if len(by_text) == 1 else f"{', '.join(whose)}: {text}" for text, whose in by_text.items() if text
        ]
        if text_of is _meaning and len(shown) > len(models):
            texts.append(BESIDE_PARTS.format(target=models[0].target))
    if left_out:
        texts.append(f"{not_shown_words(left_out).capitalize()}.")
    if len(models) > 1 and all(model.privacy.private for model in models):
        epsilon, delta = (sum(getattr(model.privacy, name) for model in models) for name in ("epsilon", "delta"))
        texts.append(
            f"Where all models are of the same people, they have epsilon {epsilon:.3g} and delta {delta:.2g} together, "
            "at most."
        )
    return texts


def _guarantee(model: "LinearModel") -> str:
    if not model.privacy.private:
        return model.privacy.statement()
    person = model.privacy.guarantee.protects
    return (
        f"Differential privacy of each person, with epsilon and delta as stated; neighbours: {person.adjacency}, "
        f"{person.promise(model.privacy.n_records)}. Noise: {model.privacy.noise}."
    )


def _meaning(model: "LinearModel") -> str:
    text = estimand_of(model)
    if not text or not model.effects:
        return ""
    meaning = (
        f"Effects are {text}."
        if model.ratio is None
        else f"{model.ratio.capitalize()}s are exponentials of effects {text}."
    )
    columns = products(model)
    return f"{meaning} {columns}." if columns else meaning


def _significance(model: "LinearModel") -> str:
    if all(effect.interval is None for effect in model.effects):
        return ""
    level = f"{FAMILY_WISE_LEVEL:.0%}".replace("%", " %")
    return (
        f"{SIGNIFICANT} significant at the {level} family-wise level (Bonferroni over all features); p-values are not "
        f"adjusted. Brackets are {INTERVAL_HEADING}s, which allow for privacy noise."
    )


def _doubts(model: "LinearModel", left_out: set[str]) -> str:
    effects = [effect for effect in model.effects if effect.feature not in left_out]
    reasons = [
        f"{', '.join(names)}: {doubt.reason}"
        for doubt, names in doubtful(effects, model.within, model.privacy.guarantee.protects.said).items()
    ]
    if any(effect.verdict is Verdict.NOT_TRUSTED for effect in effects):
        reasons = reasons or [model.reason or "nothing was learned"]
    return f"{NOT_RELIABLE} not reliable, so without an interval: {'; '.join(reasons)}." if reasons else ""


def _tested(model: "LinearModel") -> str:
    without = [name for variable in model.variables for name in variable.without]
    return (
        f"{WITHOUT} tests the reliable effects of the variable together, without {', '.join(without)}."
        if without
        else ""
    )
