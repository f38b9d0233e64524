"""Seeded fits return the bits they returned before, on every engine; on other machines, numbers close to them.

`python tests/golden/make_bits.py` writes bits.json anew, after a change that was meant.
"""

import copy
import json

import numpy as np
import pytest
from make_bits import (
    ELSEWHERE,
    ENGINES,
    GOLDEN,
    IN_MEMORY,
    NAMES,
    ON_GPU,
    PLANS,
    cases_on,
    fingerprint,
    forecast,
    is_private,
    key,
    running,
)

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]

try:
    import torch

    HAS_GPU = torch.cuda.is_available()
except ImportError:
    HAS_GPU = False

EXPECTED = json.loads(GOLDEN.read_text())
SAME_MACHINE = fingerprint() == EXPECTED["fingerprint"]
needs_gpu = (pytest.mark.cuda, pytest.mark.skipif(not HAS_GPU, reason="needs a CUDA GPU and dpsparse[cuda]"))


def assert_close(numbers, entry, *, atol=0.0):
    """What holds on every machine: the same features, and coefficients, intercept, guarantee and predictions close."""
    assert numbers["places"] == entry["places"]
    # The guarantee of a fit without the tight account has no mu.
    assert [each is None for each in numbers.get("promise", [])] == [each is None for each in entry.get("promise", [])]
    for name in ("coef", "intercept", "promise"):
        actual, expected = (np.array(each.get(name, []), dtype=float) for each in (numbers, entry))
        np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=atol, err_msg=name)
    # A prediction may cancel; some engines predict in float32.
    np.testing.assert_allclose(numbers["predict"], entry["predict"], rtol=1e-4, atol=1e-4)


def assert_bits(bits, entry, engine):
    """What holds where the file was written. The parts that differ are shown by name."""
    assert bits == entry["bits"] | entry["engines"].get(engine, {})


@pytest.fixture(scope="module")
def engine(request):
    with running(request.param) as started:
        yield started


# NumPy fits all cases in CI, another engine one in so many, and the next engine others.
SHARE = 4


def every_case():
    for turn, engine in enumerate(IN_MEMORY | ELSEWHERE):
        for place, case in enumerate(cases_on(engine)):
            in_ci = engine == "NumPy" or (turn + place) % SHARE == 0
            yield pytest.param(engine, *case, id=f"{engine}: {key(*case)}", marks=() if in_ci else pytest.mark.long)


@pytest.mark.parametrize(("engine", "name", "dtype"), [*every_case()], indirect=["engine"], scope="module")
def test_a_fit_has_its_bits(engine, name, dtype):
    numbers, bits = engine.fit(name, dtype)
    entry = EXPECTED["fits"][key(name, dtype)]
    # Products in float32 are right to 1e-7 of the largest coefficient, not of each; private fits add up integers.
    assert_close(numbers, entry, atol=0.0 if is_private(name) else 1e-6)
    if SAME_MACHINE:
        assert_bits(bits, entry, engine.name)


@pytest.fixture(scope="module")
def beside():
    """The engine that all others follow, on this machine."""
    with running("NumPy") as started:
        yield started


@pytest.mark.parametrize(
    ("engine", "name", "dtype"),
    [pytest.param(engine, *case, marks=needs_gpu) for engine in ON_GPU for case in cases_on(engine)],
    indirect=["engine"],
    scope="module",
    ids=str,
)
def test_a_gpu_has_the_bits_of_the_cpu_beside_it(engine, beside, name, dtype):
    (numbers, bits), (_, expected) = engine.fit(name, dtype), beside.fit(name, dtype)
    assert_close(numbers, EXPECTED["fits"][key(name, dtype)])
    # Predictions are products, whose bits are those of a library.
    assert bits | {"predict": None} == expected | {"predict": None}


@pytest.mark.parametrize("name", PLANS)
def test_a_forecast_has_its_numbers(name):
    actual, expected = forecast(name), EXPECTED["plans"][name]
    np.testing.assert_allclose(actual, expected, rtol=1e-6)
    if SAME_MACHINE:
        assert actual == expected


def test_nothing_else_is_in_the_file(record_property):
    assert list(EXPECTED["fits"]) == [key(*case) for case in NAMES]
    assert list(EXPECTED["plans"]) == list(PLANS)
    assert EXPECTED["fingerprint"].keys() == fingerprint().keys()
    for name, dtype in NAMES:
        entry = EXPECTED["fits"][key(name, dtype)]
        assert set(entry["engines"]) <= set(ENGINES)
        # Engines may differ in predictions alone, unless a fit is one of linear algebra.
        assert not is_private(name) or all(set(other) == {"predict"} for other in entry["engines"].values())
    record_property(
        "counted", "exact bits were held" if SAME_MACHINE else "another machine: numbers were held, no bits"
    )


def test_other_numbers_are_noticed_on_any_machine():
    entry = EXPECTED["fits"][key("pursuit", "float64")]
    for name in ("coef", "promise"):
        actual = copy.deepcopy(entry)
        actual[name][0] *= 1 + 1e-9
        assert_close(actual, entry)
        actual[name][0] *= 1 + 1e-5
        with pytest.raises(AssertionError, match=name):
            assert_close(actual, entry)
    for other in (
        {"intercept": entry["intercept"] + 1e-4},
        {"places": [*entry["places"][1:], 36]},
        {"promise": [*entry["promise"][:2], None]},
        {"predict": [each + 0.01 for each in entry["predict"]]},
    ):
        with pytest.raises(AssertionError):
            assert_close(entry | other, entry)


@pytest.mark.parametrize("engine", ["NumPy"], indirect=True)
def test_the_last_bit_is_noticed(engine, monkeypatch):
    from dpsparse import PrivateSparseRegressor

    name, dtype = "pursuit", "float64"
    _, bits = engine.fit(name, dtype)
    fit = PrivateSparseRegressor.fit

    def nearly(self, X, y):
        fit(self, X, y)
        self.coef_[0] = np.nextafter(self.coef_[0], np.inf)
        return self

    monkeypatch.setattr(PrivateSparseRegressor, "fit", nearly)
    numbers, other = engine.fit(name, dtype)
    assert_close(numbers, EXPECTED["fits"][key(name, dtype)])
    assert {part for part in bits if bits[part] != other[part]} - {"predict"} == {"coef"}
    with pytest.raises(AssertionError, match="coef"):
        assert_bits(other, {"bits": bits, "engines": {}}, "NumPy")
