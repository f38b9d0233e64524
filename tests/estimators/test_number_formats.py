"""Responses as people write them: an effect on them is the same in every format, and large ones are no gaps."""

import numpy as np
import pytest

from dpsparse import PrivateSparseRegressor, read_table
from dpsparse.engine import config

N = 4_000


def written(number, mark, point, before="", after=""):
    """A number with two decimals in groups of three, as in Python's f"{number:,.2f}"."""
    digits = f"{abs(number):,.2f}".replace(",", "@").replace(".", point).replace("@", mark)
    return f"{'-' if number < 0 else ''}{before}{digits}{after}"


FORMATS = {
    "1 234,50": (" ", ","),
    "1 234,50 thin": ("\u2009", ",", "", "\u202f€"),
    "1 234,50 that does not break": ("\u00a0", ",", "", "\u00a0€"),
    "1'234.50": ("'", "."),
    "1'234.50 of Switzerland": ("\u2019", ".", "CHF "),
    "1.234,50 €": (".", ",", "", " €"),
    "EUR 1.234,50": (".", ",", "EUR "),
    "$1,234.50": (",", ".", "$"),
    "1,234.50 USD": (",", ".", "", " USD"),
    "1 234.50 kr": (" ", ".", "", " kr"),
    "1.234,5 %": (".", ",", "", " %"),
}


def wages():
    """Wages between 100 and some thousands: 100 for each year of education."""
    rng = np.random.default_rng(0)
    education = rng.integers(6, 19, N)
    return education, (100.0 * education + 50 * rng.standard_t(3, N)).round(2)


def fitted(cells, folder, encoding="utf-8", **options):
    education, _ = wages()
    lines = ["education;wage", *(f"{years};{cell}" for years, cell in zip(education, cells, strict=True)), ""]
    (folder / "wages.csv").write_bytes("\n".join(lines).encode(encoding))
    model = PrivateSparseRegressor(epsilon=2.0, sparsity=1, random_state=0, **options)
    return model.fit(read_table(folder / "wages.csv", "wage", encoding=encoding))


@pytest.mark.filterwarnings("ignore:random_state is set")
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_of_a_response_gives_the_fit_of_plain_numbers(tmp_path, name):
    _, wage = wages()
    plain = fitted([f"{value:.2f}" for value in wage], tmp_path)
    model = fitted([written(value, *FORMATS[name]) for value in wage], tmp_path)
    assert plain.released_.effects[0].estimate == pytest.approx(100, rel=0.05)
    assert model.coef_.tolist() == plain.coef_.tolist()


@pytest.mark.filterwarnings("ignore:random_state is set")
@pytest.mark.parametrize("compiled", [True, False])
def test_a_file_of_windows(tmp_path, compiled):
    _, wage = wages()
    plain = fitted([f"{value:.2f}" for value in wage], tmp_path)
    with config.configured(compiled=compiled):
        model = fitted([written(value, "\u00a0", ",", "", " €") for value in wage], tmp_path, "cp1252")
    assert model.coef_.tolist() == plain.coef_.tolist()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:random_state is set")
@pytest.mark.parametrize("negative", ["{}-", "({})", "\u2212{}", "-{}"])
def test_negative_responses(tmp_path, negative):
    _, wage = wages()
    plain = fitted([f"{value - 1_200:.2f}" for value in wage], tmp_path)
    texts = [written(abs(value - 1_200), ".", ",") for value in wage]
    model = fitted(
        [text if value >= 1_200 else negative.format(text) for text, value in zip(texts, wage, strict=True)], tmp_path
    )
    assert model.coef_.tolist() == plain.coef_.tolist()
