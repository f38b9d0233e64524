import re
import tomllib

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsparse import PrivateSparseRegressor, read_bounds
from dpsparse.datasets import make_heavy_tailed
from dpsparse.io.bounds import Bounds, ColumnBounds
from dpsparse.io.bounds_writer import template
from dpsparse.io.formats import open_table
from dpsparse.io.table_features import read_features
from dpsparse.schema import FileError

NAMES = ["id", "age", "region", "cost"]
GOOD = """
drop = ["id"]
[columns.age]
low = 20
high = 80.0
[columns.region]
categories = ["north", "south", "east", "west"]
[response]
scale = 300
"""


def bounds_of(folder, text):
    path = folder / "bounds.toml"
    path.write_text(text)
    return read_bounds(path)


def test_a_good_file(tmp_path):
    bounds = bounds_of(tmp_path, GOOD)
    age, *regions = bounds.features(NAMES, "cost")
    assert (age.name, age.center, age.scale) == ("age", 50.0, 15.0)
    assert [region.name for region in regions] == ["region=south", "region=east", "region=west"]  # north: baseline
    assert regions[0].center == 0.25
    assert regions[0].scale == pytest.approx(0.433, abs=1e-3)
    assert (bounds.response_center, bounds.response_scale) == (None, 300.0)


def test_a_default_holds_for_every_other_column(tmp_path):
    bounds = bounds_of(tmp_path, "[default]\ncenter = 1\nscale = 2\n[columns.age]\ncenter = 3\nscale = 4")
    spreads = {feature.name: (feature.center, feature.scale) for feature in bounds.features(["a", "age", "y"], "y")}
    assert spreads == {"a": (1.0, 2.0), "age": (3.0, 4.0)}


def test_what_is_left_out_is_not_known(tmp_path):
    bounds = bounds_of(tmp_path, "[columns.age]\ncenter = 3\n[columns.size]\nscale = 4\n[columns.weight]")
    columns = ["age", "size", "weight", "steps", "y"]
    assert [(feature.center, feature.scale) for feature in bounds.features(columns, "y")] == [
        (3.0, None),
        (None, 4.0),
        (None, None),
        (None, None),
    ]
    assert [(feature.center, feature.scale) for feature in Bounds().features(["a", "y"], "y")] == [(None, None)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[columns.age]\nlow = 1", "lacks 'high'"),
        ("[columns.age]\nlow = 2\nhigh = 1", "'low' must be below 'high'"),
        ("[columns.age]\nlow = -1e308\nhigh = 1e308", "too far apart"),
        ("[columns.age]\nlow = nan\nhigh = 1", "'low' must be a finite number"),
        ("[columns.age]\ncenter = 0\nscale = 0", "'scale' must be a finite number above 0"),
        ("[columns.age]\ncenter = 0\nscale = true", "'scale' must be a finite number above 0"),
        ("[columns.age]\ncenter = 0\nscale = 1\nlow = 2", "lacks 'high'"),
        ("[columns.age]\ncentre = 0", "unknown entry 'centre'"),
        ('[columns.age]\ncenter = "?"', "not filled in yet"),
        ("[columns.age]\nlow = 0\nhigh = 1\nscale = 2", "unknown entry 'scale'"),
        ('[columns.age]\nlow = "?"\nhigh = "?"', "not filled in yet"),
        ('[columns.age]\ncategories = ["?"]', "not filled in yet"),
        ('[columns.age]\ncategories = ["a"]', "at least two"),
        ('[columns.age]\ncategories = ["a", "a"]', "different texts"),
        ("[columns.age]\ncategories = [1, 2]", "different texts"),
        ("[colums.age]\nlow = 0\nhigh = 1", "unknown entry 'colums'"),
        ("columns = 3", "must be a table"),
        ("drop = 'id'", "'drop' must be a list"),
        ("[response]\nscale = -1", "'scale' must be a finite number above 0"),
        ("[columns.a]\nshare = 1", "'share' must be below 1"),
        ("[columns.a]\nshare = 0", "'share' must be a finite number above 0"),
        ('[columns.a]\nshare = "?"', "not filled in yet"),
        ("[columns.a]\nshare = 0.2\nscale = 1", "unknown entry 'scale'"),
        ("[columns.a]\ncategories = {north = 0.6, south = 0.6}", "add up to at most 1"),
        ("[columns.a]\ncategories = {north = 0.6, south = -0.1}", "'south' must be a finite number above 0"),
        ("[columns.a]\ncategories = {north = 1}", "add up to at most 1"),
        ("[columns.a]\ncategories = {north = 0.5}", "at least two"),
        ('[columns.a]\ncategories = ["a", "b"]\nkind = "number"', "a column with categories is text"),
        ('[columns.a]\ncategories = ["a", "b"]\nfill = 0', "unknown entry 'fill'"),
        ('[columns.a]\nkind = "text"\nfill = 0', "a column of text has categories, and no numbers"),
        ('[columns.a]\nkind = "float"', "'kind' must be one of number, number_grouped"),
        ('[default]\ncategories = ["a", "b"]', "is for numbers"),
        ("low = 3\n\nhigh = = 3", "is not valid TOML: see line 3$"),
        ("[columns.a]\nlow = 3\n[columns.a]\nlow = 3", "is not valid TOML: see line 3$"),
        ('low = 3\nnote = "secret\n', "is not valid TOML: see line 2$"),
        ("drop = [\n", "is not valid TOML: it ends too early$"),
        ("a = " + "[" * 100_000, "not valid TOML"),
    ],
)
def test_a_bad_file_is_refused_in_one_line(tmp_path, text, message):
    with pytest.raises(FileError, match=message) as caught:
        bounds_of(tmp_path, text)
    assert "\n" not in str(caught.value)


def test_a_file_in_another_encoding_names_the_line(tmp_path):
    (tmp_path / "bounds.toml").write_bytes('drop = []\n[columns."région"]\n'.encode("latin-1"))
    with pytest.raises(FileError, match=r"is not valid TOML: line 2 is not UTF-8$"):
        read_bounds(tmp_path / "bounds.toml")


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        (Bounds(columns={"agee": ColumnBounds(0.0, 1.0)}), "no column 'agee'"),
        (Bounds(drop=("agee",)), "no column 'agee'"),
        (Bounds(columns={"gene_*": ColumnBounds()}), "no column like 'gene_\\*'"),
        (Bounds(columns={"cos*": ColumnBounds()}), "no column like 'cos\\*'"),
        (Bounds(columns={"cost": ColumnBounds(0.0, 1.0)}), "'cost' is the target"),
        (Bounds(drop=("id", "age", "region")), "no column is left"),
        (Bounds(columns={"region": ColumnBounds(categories=("b", "a"))}), "the same name"),
    ],
)
def test_bounds_that_do_not_fit_the_data(bounds, message):
    names = [*NAMES, "region=a"] if "same name" in message else NAMES
    with pytest.raises(FileError, match=message):
        bounds.features(names, "cost")


def test_the_template_knows_names_and_kinds_alone_and_must_be_filled_in(tmp_path):
    data = tmp_path / "data.csv"
    data.write_text('id,"a ""b\\c",région,cost\n9731,9731.5,qzx,9731.25\n')
    text = written = template(data.name, open_table(data).names, target="cost")
    assert "would leak" in text
    assert "9731" not in text
    assert "qzx" not in text
    # What is not known needs no hand.
    assert not bounds_of(tmp_path, text).columns
    text = re.sub("^#(?! |$)", "", text, flags=re.MULTILINE)
    bounds = tomllib.loads(text)
    assert bounds["columns"] == {
        "id": {"low": "?", "high": "?"},
        'a "b\\c': {"low": "?", "high": "?"},
        "région": {"low": "?", "high": "?"},  # a CSV file does not say, and its values are not asked
    }
    with pytest.raises(FileError, match="not filled in yet"):
        bounds_of(tmp_path, text)
    filled = text.replace('low = "?"', "low = 0").replace('high = "?"', "high = 1")
    assert len(bounds_of(tmp_path, filled).features(open_table(data).names, "cost")) == 3
    # One record more cannot change it, whatever its values.
    data.write_text(data.read_text() + "text,text,3,text\n")
    assert template(data.name, open_table(data).names, target="cost") == written


def test_features_are_read_in_their_own_units(tmp_path):
    data = tmp_path / "data.csv"
    data.write_text("id,age,region,cost\n1,30,west,100\n2,50,north,200\n3,40,moon,50\n")
    features = bounds_of(tmp_path, GOOD).features(NAMES, "cost")
    X, y = read_features(open_table(data), features, "cost")
    # Text that is no public category counts as the baseline: an error would tell that some record has it.
    assert X.tolist() == [[30, 0, 0, 1], [50, 0, 0, 0], [40, 0, 0, 0]]
    assert y.tolist() == [100, 200, 50]


def test_shares_fill_kinds_and_groups(tmp_path):
    bounds = bounds_of(
        tmp_path,
        """
        drop = ["*_id", "note"]
        [columns.smoker]
        share = 0.2
        [columns.region]
        categories = {north = 0.5, south = 0.4, east = 0.1}
        [columns.age]
        fill = 40
        kind = "number_comma"
        [columns."gene_*"]
        scale = 2
        [columns.gene_7]
        scale = 3
        """,
    )
    names = ["case_id", "smoker", "region", "age", "gene_1", "gene_7", "note", "y"]
    smoker, south, east, age, first, seventh = bounds.features(names, "y")
    assert (smoker.center, smoker.scale) == (0.2, pytest.approx(0.4))
    assert (south.name, south.center, south.scale) == ("region=south", 0.4, pytest.approx(np.sqrt(0.24)))
    assert (east.center, east.baseline) == (0.1, "north")
    assert (age.fill, age.kind, age.center) == (40.0, "number_comma", None)
    assert (first.scale, seventh.scale) == (2.0, 3.0)
    assert bounds.kinds(names) == {"region": "text", "age": "number_comma"}


@given(st.text("ab*.[?]", min_size=1), st.text("ab*.[?]\n"))
def test_a_star_stands_for_any_text_and_nothing_else_does(pattern, name):
    def fits(pattern, name):
        if not pattern or not name:
            return not pattern.strip("*") and not name
        if pattern[0] == "*":
            return fits(pattern[1:], name) or fits(pattern, name[1:])
        return pattern[0] == name[0] and fits(pattern[1:], name[1:])

    here, there = ColumnBounds(1.0, 2.0), ColumnBounds(3.0, 4.0)
    known = Bounds(columns={pattern: here}, default=there).of(name)
    assert known == (here if pattern == name or ("*" in pattern and fits(pattern, name)) else there)


def test_a_columns_own_name_comes_before_patterns_and_these_in_their_order():
    bounds = Bounds(columns={"a*": ColumnBounds(1.0), "*": ColumnBounds(2.0), "ab": ColumnBounds(3.0)}, drop=("*b",))
    assert [bounds.of(name).center for name in ("ac", "c", "ab")] == [1.0, 2.0, 3.0]
    # A section of its own keeps a column that a pattern would drop.
    assert [name for name in ("ab", "bb", "c") if bounds.is_dropped(name)] == ["bb"]


def test_gaps_are_filled_with_the_public_number(tmp_path):
    data = tmp_path / "data.csv"
    data.write_text("age,steps,y\n30,,1\n,7,2\ninf,8,3\n")
    features = bounds_of(tmp_path, "[columns.age]\nfill = 40").features(["age", "steps", "y"], "y")
    X, _ = read_features(open_table(data), features, "y")
    np.testing.assert_array_equal(X, [[30, np.nan], [40, 7], [40, 8]])


FRAMES = {
    "pandas": pd.DataFrame({"id": [1, 2, 3], "age": [30.0, None, 50.0], "region": ["south", None, "moon"]}),
    "nullable": pd.DataFrame(
        {"id": [1, 2, 3], "age": [30, None, 50], "region": ["south", None, "moon"]}
    ).convert_dtypes(),
    "polars": pl.DataFrame({"id": [1, 2, 3], "age": [30, None, 50], "region": ["south", None, "moon"]}),
    "arrow": pa.table({"id": [1, 2, 3], "age": [30, None, 50], "region": ["south", None, "moon"]}),
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_bounds_make_numbers_of_a_frame(tmp_path, frame):
    bounds = bounds_of(
        tmp_path,
        'drop = ["id"]\ncolumns.age = {low = 20, high = 80, fill = 1}\ncolumns.region.categories = ["north", "south"]',
    )
    encoded = bounds.encode(frame)
    assert type(encoded) is type(frame)
    names = list(getattr(encoded, "column_names", encoded.columns))
    assert names == ["age", "region=south"]
    assert [list(map(float, encoded[name])) if not isinstance(encoded, pa.Table) else encoded[name].to_pylist()
            for name in names] == [[30.0, 1.0, 50.0], [1.0, 0.0, 0.0]]  # fmt: skip
    assert bounds.units(names) == ({"age": 50.0, "region=south": 0.5}, {"age": 15.0, "region=south": 0.5})


def test_a_file_of_bounds_serves_a_fit_in_python(tmp_path):
    X, y, _ = make_heavy_tailed(500, 3, 1, random_state=0)
    people = pd.DataFrame(X, columns=["gene_1", "gene_2", "age"])
    center, scale = bounds_of(tmp_path, '[columns."gene_*"]\ncenter = 0\nscale = 1').units(people.columns)
    model = PrivateSparseRegressor(sparsity=1, feature_center=center, feature_scale=scale).fit(people, y)
    assert [(each.center, each.scale) for each in model.released_.features] == [(0.0, 1.0), (0.0, 1.0), (None, None)]


def test_the_advice_of_the_template_is_right(tmp_path):
    data = tmp_path / "data.csv"
    data.write_text("id,smoker,region,gene_1,cost\n1,0,a,2,3\n")
    text = template(data.name, open_table(data).names, target="cost")
    for advice in ("share = 0.2", "fill = 0", 'categories = ["a", "b"]', "categories = {a = 0.7, b = 0.3}"):
        assert advice in text
        bounds_of(tmp_path, f"[columns.x]\n{advice}")
    assert '[columns."gene_*"]' in text
