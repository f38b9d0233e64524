"""Kinds from votes: the rule without noise, and how often it errs with it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsparse.io.cells.grammar import CellClass, Kind
from dpsparse.learning.kinds import VOTES, kind_of
from dpsparse.learning.table_prices import preparation_shares
from dpsparse.privacy.guarantee import Guarantee, default_delta
from dpsparse.privacy.sensitivity import histograms


def votes(**counts):
    return np.array([float(counts.get(cell_class.name, 0)) for cell_class in VOTES])


COLUMNS = {
    "plain numbers": (votes(NUMBER=1_000), Kind.number_grouped),
    "thousands": (votes(NUMBER=300, EITHER=600, GROUPED=100), Kind.number_grouped),
    "thousands without a hint": (votes(EITHER=1_000), Kind.number_grouped),
    "decimal commas": (votes(NUMBER=300, EITHER=100, COMMA=600), Kind.number_comma),
    "decimal commas, more whole numbers": (votes(NUMBER=600, COMMA=400), Kind.number_comma),
    "words for true": (votes(BOOLEAN=900, TEXT=100), Kind.boolean),
    "F and M": (votes(BOOLEAN=700, TEXT=300), Kind.text),
    "dates": (votes(DATE_YMD=1_000), Kind.date_ymd),
    "days first": (votes(DATE_EITHER=600, DATE_DMY=400), Kind.date_dmy),
    "months first": (votes(DATE_EITHER=600, DATE_MDY=400), Kind.date_mdy),
    "text": (votes(TEXT=1_000), Kind.text),
    "text and a few numbers": (votes(TEXT=600, NUMBER=400), Kind.text),
    "numbers and a few words": (votes(TEXT=400, NUMBER=600), Kind.number_grouped),
    "no kind reads half": (votes(NUMBER=400, DATE_YMD=350, BOOLEAN=350), Kind.text),
    "nothing": (votes(), Kind.number_grouped),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_kind_wins_where_it_reads_the_most_and_half_of_all_cells(name):
    counts, kind = COLUMNS[name]
    assert kind_of(counts, 10.0) == kind


@given(st.lists(st.floats(-1e4, 1e6), min_size=len(VOTES), max_size=len(VOTES)), st.floats(0.1, 1e4))
def test_a_response_is_never_text_and_every_vote_has_a_kind(counts, noise):
    counts = np.array(counts)
    assert kind_of(counts, noise) in Kind
    assert kind_of(counts, noise, may_be_text=False) != Kind.text


def test_counts_within_noise_decide_nothing():
    assert kind_of(votes(TEXT=19), 10.0) == Kind.number_grouped
    assert kind_of(votes(NUMBER=1_000, COMMA=29, TEXT=29), 10.0) == Kind.number_grouped


@pytest.mark.slow
@pytest.mark.parametrize(("n", "columns"), [(2_000, 20), (5_000, 80), (50_000, 80)])
@pytest.mark.parametrize("name", ["plain numbers", "thousands", "words for true", "dates", "days first", "text"])
def test_kinds_are_right_in_all_but_one_column_in_a_thousand(n, columns, name):
    guarantee = Guarantee(1.0, default_delta(n))
    price = preparation_shares(n, guarantee.rho_per_record, columns, columns - 1, 5)["kinds"]
    noise = histograms(columns, "replace-one") / np.sqrt(2 * price * guarantee.rho_per_record)
    counts, kind = COLUMNS[name]
    generator = np.random.default_rng(0)
    drawn = counts / 1_000 * n + generator.normal(0, noise, (6_000, len(VOTES)))
    # At a rate of 1 in 1,000 more than 15 of 6,000 would come by chance once in a thousand tests.
    assert sum(kind_of(each, noise) != kind for each in drawn) <= 15


@pytest.mark.parametrize(("n", "columns"), [(1_600, 128), (1_200, 12), (500, 30)])
def test_a_response_of_numbers_is_read_as_numbers_however_loud_the_noise(n, columns):
    """At epsilon 1: noise of up to a fifth of the records, which would give one response in a hundred another kind."""
    rho = 0.0243
    share = preparation_shares(n, rho, columns, columns - 1, 5)["kinds"]
    noise = np.sqrt(columns / (share * rho))
    votes = np.zeros(len(VOTES))
    votes[VOTES.index(CellClass.NUMBER)] = n
    rng = np.random.default_rng(n)
    kinds = [kind_of(votes + noise * rng.normal(size=len(VOTES)), noise, may_be_text=False) for _ in range(3_000)]
    assert set(kinds) == {Kind.number_grouped}


@pytest.mark.parametrize("kind", [Kind.number_comma, Kind.boolean, Kind.date_dmy])
def test_a_response_of_another_kind_is_found_where_it_surely_leads(kind):
    votes = np.zeros(len(VOTES))
    own = {Kind.number_comma: CellClass.COMMA, Kind.boolean: CellClass.BOOLEAN, Kind.date_dmy: CellClass.DATE_DMY}
    votes[VOTES.index(own[kind])] = 10_000
    assert kind_of(votes, 100.0, may_be_text=False) == kind


def test_all_classes_but_empty_vote():
    assert set(VOTES) == set(CellClass) - {CellClass.EMPTY}
