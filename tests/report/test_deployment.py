"""Drafts for the registry of deployments and for a review along NIST SP 800-226."""

from dataclasses import replace

import pytest
import yaml

from dpsparse.model.context import Budget, FitContext
from dpsparse.report.nist import nist_sheet
from dpsparse.report.registry import registry_entry
from dpsparse.schema import FileError

BUDGET = Budget("budget.db", "trial-7", 3.0, 1e-6, 1.5, 2.25, 2)
# The registry's schema (opendp/deployments-registry-data, schemas/deployments-schema.yaml): nothing else is allowed.
ALLOWED = {
    "basic": {
        *("name", "data_curators", "intended_use", "data_product_type", "data_product_region", "description"),
        *("publication_date", "data_product_sector"),
    },
    "dp_variant": {"variant_name", "data_domain", "unprotected_quantities"},
    "privacy_loss": {
        *("privacy_unit", "privacy_unit_details", "privacy_parameters", "privacy_parameters_details"),
    },
    "deployment_model": {
        *("model_name", "model_name_details", "actors", "release_type", "release_type_details", "data_source_type"),
        *("data_source_type_details", "access_type", "access_type_details"),
    },
    "accounting": {"post_processing", "composition"},
    "implementation": {"preprocessing_and_hyperparameter_tuning", "mechanisms", "justification"},
    "administrative": {"sources", "notes", "registry_authors"},
}
REQUIRED = ALLOWED["basic"] - {"data_product_sector"}
WORDS = {
    "data_product_type": {"Machine learning model"},
    "variant_name": {"Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"},
    "model_name": {"Local", "Central", "Shuffle", "Federated", "Varies"},
    "release_type": {"One release", "Many releases"},
    "data_source_type": {"Static", "Dynamic"},
    "access_type": {"Interactive", "Non-interactive"},
}


def entry_of(model):
    return yaml.safe_load(registry_entry(model))


def test_the_entry_has_the_keys_of_the_registry_alone(model):
    entry = entry_of(model)
    assert list(entry) == ["url_slug", "status", "tier", "deployment"]
    assert (entry["status"], entry["tier"]) == ("Draft", 3)
    assert set(entry["deployment"]) == set(ALLOWED)
    for name, section in entry["deployment"].items():
        assert set(section) <= ALLOWED[name]
        for key, value in section.items():
            assert value in WORDS.get(key, {value} if isinstance(value, str) else [value])
    assert set(entry["deployment"]["basic"]) >= REQUIRED


def test_what_the_model_knows_is_filled_in(model):
    known = replace(model, context=FitContext("2026-01-31", BUDGET))
    sections = entry_of(known)["deployment"]
    parameters = sections["privacy_loss"]["privacy_parameters"]
    assert parameters == {"epsilon": model.privacy.epsilon, "delta": model.privacy.delta}
    assert sections["privacy_loss"]["privacy_unit"] == "Person (one record each)"
    assert sections["basic"]["publication_date"] == "2026-01-31"
    assert "1,000 records" in sections["basic"]["description"]
    assert BUDGET.sentence() in sections["accounting"]["composition"]
    made = sections["implementation"]["mechanisms"]
    for release in model.privacy.releases:
        assert release.mechanism.words in made
    assert "sum of integers" in made


def test_what_only_people_know_is_marked_and_nothing_else(model):
    text = registry_entry(model)
    basic = yaml.safe_load(text)["deployment"]["basic"]
    for key in ("name", "intended_use", "data_product_region", "publication_date"):
        assert basic[key].startswith("TO FILL: ")
    assert basic["data_curators"][0].startswith("TO FILL: ")
    assert "# data_product_sector" in text
    assert "TO FILL" not in basic["description"]
    assert "other releases from the same people" in text


@pytest.mark.parametrize("delta", [1e-6, 5e-324, 0.25])
def test_numbers_are_numbers(model, delta):
    guarantee = replace(model.privacy.guarantee, delta=delta)
    parameters = entry_of(replace(model, privacy=replace(model.privacy, guarantee=guarantee)))["deployment"]
    assert parameters["privacy_loss"]["privacy_parameters"]["delta"] == delta


def test_names_cannot_break_the_yaml(model):
    odd = 'cost: "x"\\ # y'
    assert odd in entry_of(replace(model, target=odd))["deployment"]["basic"]["description"]


def test_the_sheet_goes_down_the_pyramid(model):
    text = nist_sheet(model)
    levels = [line[3:] for line in text.splitlines() if line.startswith("## ")]
    assert levels[:2] == ["Epsilon, and delta", "Unit of privacy"]
    assert levels[-1] == "Data collection"
    assert text.count("\nHazard: ") == len(levels) == 7
    assert model.privacy.plain_words() in text
    assert text.count("TO FILL: ") >= 6


def test_a_simulation_is_no_deployment(model):
    simulated = replace(model, privacy=replace(model.privacy, private=False))
    for draft in (registry_entry, nist_sheet):
        with pytest.raises(FileError, match="guarantees nothing"):
            draft(simulated)
