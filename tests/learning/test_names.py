"""Names of the selected categories."""

import json
from dataclasses import asdict, replace

import pytest

from dpsparse.io.cells.grammar import bucket
from dpsparse.io.cells.raw_table import CsvTable
from dpsparse.io.table_features import one_hot, read_feature
from dpsparse.learning.categories import release_labels
from dpsparse.learning.preparation import Preparation
from dpsparse.privacy.noise import ZeroSource
from dpsparse.schema import Fields


@pytest.fixture
def fitted(raw_path, open_meter):
    raw = CsvTable(raw_path)
    meter, slots = open_meter(raw.n_records)
    return raw, meter, slots["names"], Preparation(raw, "income", meter, slots).run().features


def place(features, name):
    return [each.name for each in features].index(name)


def place_of(features, text):
    return [each.buckets for each in features].index((bucket(text),))


def test_selected_categories_and_their_baseline_get_names(fitted):
    raw, meter, slot, features = fitted
    selected = [place_of(features, "west"), place(features, "rate")]
    names = release_labels(meter, slot, raw, features, selected)
    assert names.features[selected[0]].name == "region=west"
    assert names.baselines == {"region": "north"}
    # What was not selected has no name, and nothing else changed.
    assert names.features[place_of(features, "south")].label is None
    assert [each.buckets for each in names.features] == [each.buckets for each in features]
    release = meter.record().releases[-1]
    assert (release.name, release.kind) == ("names", "partitions")


def test_another_and_missing_text_name_their_baseline(fitted):
    raw, meter, slot, features = fitted
    names = release_labels(meter, slot, raw, features, [place(features, "region (another value)")])
    assert names.baselines == {"region": "north"}
    assert names.features == features


@pytest.mark.parametrize("name", ["rate", "fee"])
def test_without_text_the_slot_is_skipped_and_stays_paid(fitted, name):
    raw, meter, slot, features = fitted
    names = release_labels(meter, slot, raw, features, [place(features, name)])
    assert names.features == features
    assert names.baselines == {}
    release = meter.record().releases[-1]
    assert release.size == 0
    assert release.mechanism.failure_probability == slot.mechanism.failure_probability > 0


def test_public_categories_need_no_names(fitted):
    raw, meter, slot, learned = fitted
    public = [replace(each, kind="text") for each in one_hot("ward", ["a", "b"])]
    features = (*learned, *public)
    selected = [place_of(features, "west"), place(features, "ward=b")]
    names = release_labels(meter, slot, raw, features, selected)
    assert [names.features[each].name for each in selected] == ["region=west", "ward=b"]
    assert names.baselines == {"region": "north"}


def test_a_rare_value_in_a_selected_bucket_stays_unnamed(tmp_path, open_meter):
    same = next(text for text in map(str, range(10**5)) if bucket(f"x{text}") == bucket("south"))
    path = tmp_path / "table.csv"
    path.write_text("region,y\n" + "north,1\n" * 600 + "south,2\n" * 399 + f"x{same},3\n")
    raw = CsvTable(path)
    meter, slots = open_meter(1_000, source=ZeroSource())
    features = Preparation(raw, "y", meter, slots).run().features
    selected = [place_of(features, "south")]
    names = release_labels(meter, slots["names"], raw, features, selected)
    assert names.features[selected[0]].label == "south"
    assert raw.value_counts("region", bucket("south")) == {"south": 399, f"x{same}": 1}


def test_names_are_fit_for_a_model_file(tmp_path, open_meter):
    path = tmp_path / "table.csv"
    path.write_text("region,y\n" + "no\trth,1\n" * 600 + f"{'s' * 500}\x00,2\n" * 400)
    raw = CsvTable(path)
    meter, slots = open_meter(1_000, source=ZeroSource())
    features = Preparation(raw, "y", meter, slots).run().features
    names = release_labels(meter, slots["names"], raw, features, [0])
    assert names.baselines == {"region": "no\N{REPLACEMENT CHARACTER}rth"}
    assert names.features[0].label == "s" * 100
    for feature in names.features:
        assert read_feature(Fields(json.loads(json.dumps(asdict(feature))), "model.json")) == feature
