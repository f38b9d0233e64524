"""The model file: JSON with a fixed schema, checked entry by entry when it is read; nothing in it is ever executed."""

import json
import os
from dataclasses import asdict
from dataclasses import fields as dataclass_fields
from typing import IO, Any

from sklearn.utils.validation import check_is_fitted

from dpsparse import __version__
from dpsparse.algorithms.pursuit.result import DOUBTS, HARDLY_VARIES, UNIT_WRONG, ResponseCount
from dpsparse.families.estimands import ALL_ESTIMANDS
from dpsparse.io.atomic import atomic_file
from dpsparse.io.cells.formulas import Formula, read_formula
from dpsparse.io.cells.grammar import Kind
from dpsparse.io.table_features import Feature, read_feature
from dpsparse.learning.categories import MANY_VALUES, NONE_COMMON
from dpsparse.model.context import read_context
from dpsparse.model.effect import Effect
from dpsparse.model.evaluation_result import read_scores
from dpsparse.model.privacy_json import read_record
from dpsparse.model.released import LinearModel
from dpsparse.model.two_parts import parts_dict, read_parts
from dpsparse.model.variables import Variable
from dpsparse.schema import Fields, FileError, read_json

FORMAT, VERSION = "dpsparse-model", 3


def as_dict(model: LinearModel) -> dict[str, Any]:
    """The content of a model file."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "made_by": f"dpsparse {__version__}",
        "estimator": model.estimator,
        "target": model.target,
        "intercept": model.intercept,
        "noise_floor": model.noise_floor,
        "response_scale_known": model.response_scale_known,
        "explains": model.explains,
        "reason": model.reason or None,
        "nearly_exact": model.nearly_exact,
        "prediction_range": model.prediction_range and dict(zip(("low", "high"), model.prediction_range, strict=True)),
        "cut": model.cut,
        "lumped": model.lumped,
        "target_kind": model.target_kind,
        "baselines": dict(model.baselines),
        "context": model.context and model.context.to_dict(),
        "constant": model.constant,
        "response_scale": model.response_scale,
        "spread_explained": model.spread_explained,
        "scores": model.scores and asdict(model.scores),
        "median_shift": model.median_shift,
        "median_slope": model.median_slope,
        "calibration_slope": model.calibration_slope,
        "left_out": dict(model.left_out),
        "responses": model.responses and asdict(model.responses),
        "text_unused": dict(model.text_unused),
        "estimand": model.estimand,
        "classes": model.classes and list(model.classes),
        "exposure": model.exposure,
        "formula": model.formula and {"text": model.formula.text, "kinds": dict(model.formula.kinds)},
        "within": model.within,
        "variables": [asdict(variable) for variable in model.variables],
        "correlations": model.correlations and [list(row) for row in model.correlations],
        "effects": [asdict(effect) for effect in model.effects],
        "parts": model.parts and parts_dict(model.parts, as_dict),
        "features": [_without_defaults(feature) for feature in model.features],
        "privacy": model.privacy.to_dict(),
    }


def _without_defaults(feature: Feature) -> dict[str, Any]:
    """The fields of a feature; those that few features have are left out where a feature has them not."""
    usual = ("column", "center", "scale", "category")
    fields = {each.name: getattr(feature, each.name) for each in dataclass_fields(feature)}
    if feature.within is not None:
        fields["within"] = _without_defaults(feature.within)
    return {
        name: value for name, value in fields.items() if name in usual or (value is not None and value is not False)
    }


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write the released model of a fitted private estimator as a JSON file.

    Parameters
    ----------
    model : estimator or LinearModel
        A fitted private estimator, whose `released_` is written, or such a model itself.
    path : str or path
        Where; the file appears whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> from dpsparse import PrivateSparseRegressor, load_model, save_model
    >>> from dpsparse.datasets import make_heavy_tailed
    >>> X, y, _ = make_heavy_tailed(5000, 20, 2, random_state=0)
    >>> model = PrivateSparseRegressor(sparsity=2, epsilon=1.0, feature_center=0, feature_scale=1).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/model.json")
    ...     again = load_model(f"{folder}/model.json")
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    if not isinstance(model, LinearModel):
        check_is_fitted(model, "released_", msg="only a fitted private estimator can become a model file")
        model = model.released_
    with atomic_file(path) as stream:
        write_model(model, stream)


def write_model(model: LinearModel, stream: IO[bytes]) -> None:
    """Write a model to an open binary stream."""
    stream.write((json.dumps(as_dict(model), indent=1, allow_nan=False) + "\n").encode())


def load_model(path: str | os.PathLike[str]) -> LinearModel:
    """Read a model file, checking every entry.

    Parameters
    ----------
    path : str or path
        A file that `save_model` or `dpsparse fit` wrote.

    Returns
    -------
    LinearModel
        The released model, with `predict`, `summary` and `conf_int`.
    """
    fields = read_json(path, "; is it a model file?")
    if fields.take("format", None) != FORMAT:
        raise FileError(f"{path} is not a model file of dpsparse")
    if fields.count("version") != VERSION:
        raise FileError(f"{path} has another version than {VERSION}; read it with a newer dpsparse")
    fields.text("made_by")
    features = tuple(read_feature(row) for row in fields.tables("features"))
    if not features or len({feature.name for feature in features}) < len(features):
        raise FileError(f"{path}: features must be there, and each have a name of its own")
    shared = {
        "features": features,
        "privacy": read_record(fields.table("privacy")),
        "context": read_context(fields.table("context", None)),
        "formula": _formula(fields.table("formula", None)),
    }
    parts = read_parts(fields.table("parts", None), lambda part: _model(part, shared))
    return _model(fields, shared | {"parts": parts})


def _model(fields: Fields, shared: dict[str, Any]) -> LinearModel:
    """A model, or a part of one; `shared` has the fields that parts do not say again."""
    names = {feature.name for feature in shared["features"]}
    effects = tuple(_effect(row, names) for row in fields.tables("effects"))
    if len({effect.feature for effect in effects}) < len(effects):
        raise FileError(f"{fields.where}: each effect must have a name of its own")
    model = LinearModel(
        estimator=fields.text("estimator"),
        target=fields.text("target"),
        effects=effects,
        intercept=fields.number("intercept"),
        noise_floor=fields.number("noise_floor", None, least=0),
        response_scale_known=fields.flag("response_scale_known"),
        estimand=_estimand(fields),
        classes=_classes(fields),
        exposure=fields.text("exposure", None),
        within=fields.flag("within"),
        variables=_variables(fields, {effect.feature for effect in effects}),
        correlations=_correlations(fields, sum(effect.interval is not None for effect in effects)),
        **shared,
        **_response_facts(fields),
        **_how_good(fields),
        **_left_out(fields, names),
    )
    fields.finish()
    return model


def _response_facts(fields: Fields) -> dict[str, Any]:
    """What the releases say about predictions and the response."""
    return {
        "explains": fields.flag("explains"),
        "reason": fields.text("reason", None) or "",
        "nearly_exact": fields.flag("nearly_exact"),
        "prediction_range": _range(fields.table("prediction_range", None)),
        "cut": fields.number("cut", None, least=0),
        "lumped": fields.flag("lumped"),
        "target_kind": _kind(fields.text("target_kind", None), fields.where),
        "baselines": _texts(fields.table("baselines", None)),
    }


def _formula(fields: Fields | None) -> Formula | None:
    if fields is None:
        return None
    text, kinds = fields.text("text"), _texts(fields.table("kinds"))
    fields.finish()
    for kind in kinds.values():
        _kind(kind, fields.where)
    return read_formula(text, None, kinds)


def _estimand(fields: Fields) -> str | None:
    name = fields.text("estimand", None)
    if name is not None and name not in ALL_ESTIMANDS:
        raise FileError(f"{fields.where}: 'estimand' must be one of {', '.join(ALL_ESTIMANDS)}")
    return name


def _classes(fields: Fields) -> tuple[str, str] | None:
    names = fields.take("classes", None)
    if names is None:
        return None
    if not isinstance(names, list) or len(names) != 2 or not all(isinstance(name, str) for name in names):
        raise FileError(f"{fields.where}: 'classes' must be the two labels of no and yes")
    return names[0], names[1]


def _variables(fields: Fields, names: set[str]) -> tuple[Variable, ...]:
    return tuple(_variable(row, names) for row in fields.tables("variables"))


def _variable(fields: Fields, names: set[str]) -> Variable:
    variable = Variable(
        name=fields.text("name"),
        features=tuple(fields.names("features")),
        p_value=fields.number("p_value", least=0),
        clear=fields.flag("clear"),
        without=tuple(fields.names("without")),
    )
    fields.finish()
    if not {*variable.features, *variable.without} <= names or variable.p_value > 1:
        raise FileError(f"{fields.where}: 'features' must have effects, and 'p_value' be at most 1")
    return variable


def _correlations(fields: Fields, count: int) -> tuple[tuple[float, ...], ...] | None:
    rows = fields.take("correlations", None)
    if rows is None:
        return None
    if (
        not isinstance(rows, list)
        or [len(row) if isinstance(row, list) else -1 for row in rows] != [*range(count)]
        or not all(type(each) in (int, float) and -1 <= each <= 1 for row in rows for each in row)
    ):
        raise FileError(
            f"{fields.where}: 'correlations' must give for each effect with an interval those with the ones before it"
        )
    return tuple(tuple(map(float, row)) for row in rows)


def _kind(name: str | None, where: str) -> str | None:
    if name is not None and name not in list(Kind):
        raise FileError(f"{where}: 'kind' must be one of {', '.join(Kind)}")
    return name


def _texts(fields: Fields | None) -> dict[str, str]:
    return {} if fields is None else {name: fields.text(name) for name in fields}


def _how_good(fields: Fields) -> dict[str, Any]:
    """What the releases say about how well the model does."""
    explained = fields.number("spread_explained", None, least=0)
    if explained is not None and explained > 1:
        raise FileError(f"{fields.where}: 'spread_explained' must be a share, at most 1")
    scores = fields.table("scores", None)
    return {
        "constant": fields.number("constant", None),
        "response_scale": fields.number("response_scale", None, above=0),
        "spread_explained": explained,
        "scores": scores and read_scores(scores),
        "median_shift": fields.number("median_shift", None),
        "median_slope": fields.number("median_slope", least=0),
        "calibration_slope": fields.number("calibration_slope", least=0),
        "responses": _responses(fields.table("responses", None)),
    }


def _left_out(fields: Fields, names: set[str]) -> dict[str, Any]:
    """The selected features that have no effect, the columns of text that were not used, and why."""
    left_out = _texts(fields.table("left_out", None))
    if not left_out.keys() <= names or not {*left_out.values()} <= {HARDLY_VARIES, UNIT_WRONG}:
        raise FileError(f"{fields.where}: 'left_out' must give {HARDLY_VARIES!r} or {UNIT_WRONG!r} for features listed")
    unused = _texts(fields.table("text_unused", None))
    if not {*unused.values()} <= {MANY_VALUES, NONE_COMMON}:
        raise FileError(f"{fields.where}: 'text_unused' must give {MANY_VALUES!r} or {NONE_COMMON!r}")
    return {"left_out": left_out, "text_unused": unused}


def _responses(fields: Fields | None) -> ResponseCount | None:
    if fields is None:
        return None
    count = ResponseCount(
        number=fields.number("number", above=0),
        noise=fields.number("noise", least=0),
        n_records=fields.count("n_records"),
        empty=fields.number("empty", least=0),
    )
    fields.finish()
    if count.number > count.n_records or count.empty > 1:
        raise FileError(f"{fields.where}: 'number' must not be above 'n_records', nor 'empty' above 1")
    return count


def _range(fields: Fields | None) -> tuple[float, float] | None:
    if fields is None:
        return None
    low, high = fields.number("low"), fields.number("high")
    fields.finish()
    if low > high:
        raise FileError(f"{fields.where}: 'low' must not be above 'high'")
    return low, high


def _effect(fields: Fields, names: set[str]) -> Effect:
    effect = Effect(
        feature=fields.text("feature"),
        coef=fields.number("coef"),
        estimate=fields.number("estimate", None),
        standard_error=fields.number("standard_error", None, least=0),
        clear=fields.flag("clear"),
        trusted=fields.flag("trusted"),
        center=fields.number("center", None),
        scale=fields.number("scale", None, above=0),
        doubt=fields.text("doubt", None),
    )
    fields.finish()
    if effect.doubt is not None and (effect.trusted or effect.doubt not in DOUBTS):
        raise FileError(f"{fields.where}: 'doubt' must say why an effect is not trusted: {', '.join(DOUBTS)}")
    if effect.feature not in names:
        raise FileError(f"{fields.where}: 'feature' is none of the features listed")
    if (effect.estimate is None) != (effect.standard_error is None):
        raise FileError(f"{fields.where}: 'estimate' and 'standard_error' belong together")
    if (effect.center is None) != (effect.scale is None):
        raise FileError(f"{fields.where}: 'center' and 'scale' belong together")
    return effect
