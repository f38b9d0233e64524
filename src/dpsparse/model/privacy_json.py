"""The privacy record of a model file, read and checked: its totals must follow from its releases."""

import math
from collections.abc import Iterable
from typing import cast

import numpy as np

from dpsparse.privacy.accounting.record import PrivacyRecord
from dpsparse.privacy.accounting.release import MECHANISMS, Release
from dpsparse.privacy.guarantee import Guarantee
from dpsparse.privacy.protection import ADJACENCIES, Adjacency
from dpsparse.schema import Fields, FileError

# Larger numbers belong to no fit, and their squares might overflow.
_MOST = 1e30


def read_record(fields: Fields) -> PrivacyRecord:
    """The record that `PrivacyRecord.to_dict` wrote."""
    stated = {name: fields.number(name, least=0) for name in ("epsilon", "delta", "rho")}
    stated["mu"] = _or_infinite(fields, "mu")
    record = PrivacyRecord(
        guarantee=_guarantee(fields.table("asked")),
        n_records=fields.count("n_records"),
        releases=tuple(_release(release) for release in fields.tables("releases")),
        noise=fields.text("noise"),
        private=fields.flag("private"),
    )
    fields.finish()
    if not _adds_up(record, stated):
        raise FileError(f"{fields.where}: the guarantee does not follow from the releases listed; the file was changed")
    return record


def _guarantee(fields: Fields) -> Guarantee:
    guarantee = Guarantee(
        epsilon=_bounded(fields, "epsilon", above=0),
        delta=_bounded(fields, "delta", above=0),
        adjacency=cast(Adjacency, _choice(fields, "adjacency", ADJACENCIES)),
        records_per_person=fields.count("records_per_person"),
        rows=fields.count("rows", None),
    )
    fields.finish()
    return guarantee


def _release(fields: Fields) -> Release:
    kind = _choice(fields, "kind", MECHANISMS)
    numbers = {
        "name": fields.text("name"),
        "kind": kind,
        "mechanism": fields.text("mechanism"),
        "sensitivity": _bounded(fields, "sensitivity"),
        "scale": _bounded(fields, "scale"),
        "rho": _bounded(fields, "rho"),
        "pure_epsilon": _or_infinite(fields, "pure_epsilon"),
        "part": fields.count("part", None, least=0),
        "size": fields.count("size", least=0),
        **{key: _bounded(fields, key) for key in MECHANISMS[kind].more},
    }
    if not numbers["size"]:
        numbers["tv_slack"] = fields.number("tv_slack", 0.0, least=0)
    fields.finish()
    try:
        return Release.from_dict(numbers)
    except ValueError as refused:
        raise FileError(f"{fields.where}: {refused}") from None


def _adds_up(record: PrivacyRecord, stated: dict[str, float]) -> bool:
    try:
        with np.errstate(all="ignore"):
            computed = {name: getattr(record, name) for name in stated}
    except (ArithmeticError, ValueError):
        return False
    # Another machine's special functions may differ in the last digits.
    return record.epsilon <= record.guarantee.epsilon * (1 + 1e-9) and all(
        math.isclose(computed[name], value, rel_tol=1e-6, abs_tol=1e-300) for name, value in stated.items()
    )


def _choice(fields: Fields, key: str, choices: Iterable[str]) -> str:
    value = fields.text(key)
    if value not in choices:
        raise FileError(f"{fields.where}: '{key}' must be one of {', '.join(choices)}")
    return value


def _bounded(fields: Fields, key: str, **limits: int) -> float:
    value = fields.number(key, least=0, **limits)
    if value > _MOST:
        raise FileError(f"{fields.where}: '{key}' is too large for any fit")
    return value


def _or_infinite(fields: Fields, key: str) -> float:
    value = fields.number(key, None, least=0)
    return math.inf if value is None else value
