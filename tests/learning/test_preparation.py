"""From a raw file to features, by releases alone."""

import json
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest

from dpsparse.io.cells.encoding import encode
from dpsparse.io.cells.grammar import CellClass, Kind, bucket
from dpsparse.io.cells.raw_table import CsvTable, FrameTable
from dpsparse.io.table_features import read_feature
from dpsparse.learning.preparation import Preparation
from dpsparse.privacy.accounting.meter import BudgetExceeded
from dpsparse.privacy.noise import ZeroSource
from dpsparse.schema import Fields


@pytest.fixture
def prepared(raw_path, open_meter):
    raw = CsvTable(raw_path)
    meter, slots = open_meter(raw.n_records)
    preparation = Preparation(raw, "income", meter, slots)
    return raw, meter, preparation, preparation.run()


def test_a_raw_file_becomes_features_without_a_word_typed(prepared):
    _, meter, _, encoding = prepared
    kinds = {each.column: each.kind for each in encoding.features}
    assert kinds == {
        "fee": "number_grouped",
        "rate": "number_grouped",
        "member": "boolean",
        "joined": "date_dmy",
        "region": "text",
        "constant": "number_grouped",
    }
    assert encoding.target_kind == Kind.number_grouped
    of_region = [each for each in encoding.features if each.column == "region"]
    assert [each.name for each in of_region] == [
        "region (unnamed value 1)",
        "region (unnamed value 2)",
        "region (another value)",
        "region (gap)",
    ]
    assert [each.buckets for each in of_region[:2]] == [(bucket("south"),), (bucket("west"),)]
    # Identifiers and free text have no categories, and here no gaps.
    assert not {each.column for each in encoding.features} & {"id", "note"}
    assert [release.name for release in meter.record().releases] == ["kinds", "distinct values", "categories"]


def test_the_matrix_follows_from_the_features_alone(prepared):
    raw, _, preparation, encoding = prepared
    X, y = encoding.encode(raw)
    np.testing.assert_array_equal(encoding.encode(raw, preparation.buckets_of)[0], X)
    assert 0.85 < np.isfinite(y).mean() < 0.95
    stored = [read_feature(Fields(json.loads(json.dumps(asdict(each))), "model.json")) for each in encoding.features]
    assert tuple(stored) == encoding.features
    np.testing.assert_array_equal(encode(raw, stored), X)
    shares = {each.name: X[:, k].mean() for k, each in enumerate(encoding.features)}
    assert shares["region (another value)"] == pytest.approx(0.01, abs=0.01)
    assert shares["region (gap)"] == pytest.approx(0.1, abs=0.03)
    assert shares["region (unnamed value 1)"] == pytest.approx(0.3, abs=0.05)
    # Held-out records and others are read in the same way, and blank lines are gaps.
    np.testing.assert_array_equal(encode(raw.part(5, [4]), stored), X[4::5])


def test_declared_types_are_kept_and_slots_without_columns_are_skipped(open_meter):
    frame = pd.DataFrame({"age": [31.0, None] * 50, "member": [True, False] * 50, "fee": np.arange(100.0)})
    meter, slots = open_meter(100, source=ZeroSource())
    encoding = Preparation(FrameTable(frame), "fee", meter, slots).run()
    assert [(each.column, each.kind) for each in encoding.features] == [("age", "number"), ("member", "boolean")]
    # Their gaps are counted all the same.
    assert [release.size for release in meter.record().releases] == [3 * len(CellClass), 0, 0]


def test_kinds_of_the_user_come_first(raw_path, open_meter):
    raw = CsvTable(raw_path)
    meter, slots = open_meter(raw.n_records, source=ZeroSource())
    kinds = {"constant": "text", "joined": "date_mdy", "income": "number"}
    encoding = Preparation(raw, "income", meter, slots, kinds=kinds, columns=["joined", "constant", "rate"]).run()
    assert (encoding.features[0].column, encoding.features[0].kind) == ("joined", "date_mdy")
    assert encoding.target_kind == Kind.number
    assert {each.kind for each in encoding.features if each.column == "constant"} == {"text"}
    # Three columns and the response.
    assert meter.record().releases[0].size == 4 * len(CellClass)


def test_a_response_declared_as_text_is_refused(open_meter):
    meter, slots = open_meter(4)
    with pytest.raises(ValueError, match="'fee' is declared as text"):
        Preparation(FrameTable(pd.DataFrame({"fee": list("abcd")})), "fee", meter, slots, kinds={"fee": "text"})


def test_a_response_of_words_is_missing_throughout_and_stays_a_number(open_meter):
    raw = FrameTable(pd.DataFrame({"fee": ["a", "b"] * 100, "age": [1.0, 2.0] * 100}))
    meter, slots = open_meter(200, source=ZeroSource())
    encoding = Preparation(raw, "fee", meter, slots).run()
    assert encoding.target_kind != Kind.text
    assert np.isnan(encoding.responses(raw)).all()


def test_a_plan_without_the_slot_is_refused(raw_path, open_meter):
    raw = CsvTable(raw_path)
    meter, slots = open_meter(raw.n_records, names=("distinct values", "categories"))
    with pytest.raises(ValueError, match="no slot 'kinds'"):
        Preparation(raw, "income", meter, slots).run()
    assert meter.record().releases == ()


def test_another_price_is_refused(raw_path, open_meter):
    raw = CsvTable(raw_path)
    meter, _ = open_meter(raw.n_records)
    _, dearer = open_meter(raw.n_records, epsilon=8.0)
    with pytest.raises(BudgetExceeded):
        Preparation(raw, "income", meter, dearer).run()
    assert meter.record().releases == ()


def test_lines_that_are_no_records_count_nowhere(tmp_path, open_meter):
    path = tmp_path / "table.csv"
    path.write_text("a,y\n" + 'north,1\n"broken\n\nnorth,2,3\n' * 50)
    raw = CsvTable(path)
    assert raw.n_records == 200
    meter, slots = open_meter(200, source=ZeroSource())
    encoding = Preparation(raw, "y", meter, slots).run()
    assert np.isfinite(encoding.responses(raw)).sum() == 50
