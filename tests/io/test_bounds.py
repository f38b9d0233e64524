import tomllib

import pytest

from dpsparse.io.bounds import Bounds, read_bounds, template
from dpsparse.io.features import read_features
from dpsparse.io.formats import open_table
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
        ("low = = 3", "not valid TOML"),
        ("a = " + "[" * 100_000, "not valid TOML"),
    ],
)
def test_a_bad_file_is_refused_in_one_line(tmp_path, text, message):
    with pytest.raises(FileError, match=message) as caught:
        bounds_of(tmp_path, text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        (Bounds(columns={"agee": (0.0, 1.0)}), "no column 'agee'"),
        (Bounds(drop=("agee",)), "no column 'agee'"),
        (Bounds(columns={"cost": (0.0, 1.0)}), "'cost' is the target"),
        (Bounds(drop=("id", "age", "region")), "no column is left"),
        (Bounds(columns={"region": ["b", "a"]}), "the same name"),
    ],
)
def test_bounds_that_do_not_fit_the_data(bounds, message):
    names = [*NAMES, "region=a"] if "same name" in message else NAMES
    with pytest.raises(FileError, match=message):
        bounds.features(names, "cost")


def test_the_template_knows_names_and_kinds_alone_and_must_be_filled_in(tmp_path):
    data = tmp_path / "data.csv"
    data.write_text('id,"a ""b\\c",région,cost\n9731,9731.5,qzx,9731.25\n')
    text = template(open_table(data), "cost")
    assert "would leak" in text
    assert "9731" not in text
    assert "qzx" not in text
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
    assert template(open_table(data), "cost") == text


def test_features_are_read_in_their_own_units(tmp_path):
    data = tmp_path / "data.csv"
    data.write_text("id,age,region,cost\n1,30,west,100\n2,50,north,200\n3,40,moon,50\n")
    features = bounds_of(tmp_path, GOOD).features(NAMES, "cost")
    X, y = read_features(open_table(data), features, "cost")
    # Text that is no public category counts as the baseline: an error would tell that some record has it.
    assert X.tolist() == [[30, 0, 0, 1], [50, 0, 0, 0], [40, 0, 0, 0]]
    assert y.tolist() == [100, 200, 50]
