"""An entry for the public registry of differential-privacy deployments (opendp/deployments-registry-data), as YAML.

The keys are those of the registry's schema. What only people know is marked "TO FILL"; an entry that the schema
restricts to a list of words is a comment until somebody fills it in, so that the file stays valid.
"""

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from dpsparse.report import deployment
from dpsparse.report.deployment import to_fill

if TYPE_CHECKING:
    from dpsparse.model.released import LinearModel

_SECTORS = "Technology, Healthcare, Education, Government, Energy, Finance"


def registry_entry(model: "LinearModel") -> str:
    """The entry of a released model.

    The model must be private, and nothing else is read. Returns YAML.
    """
    deployment.require_private(model)
    record, date = model.privacy, model.context and model.context.date
    entry = {
        "url_slug": to_fill("name, curator and year, with hyphens"),
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": {
                "name": to_fill("the name of the data product"),
                "data_curators": [to_fill("who publishes it")],
                "intended_use": to_fill("what it is meant for"),
                "data_product_type": "Machine learning model",
                "data_product_region": to_fill("the region described, or whose laws apply"),
                "description": deployment.description(model),
                "publication_date": date or to_fill("as YYYY-MM-DD"),
                "# data_product_sector": to_fill(f"one of {_SECTORS}"),
            },
            "dp_variant": {
                "variant_name": "Approximate DP",
                "data_domain": deployment.domain(model),
                "unprotected_quantities": deployment.unprotected(model),
            },
            "privacy_loss": {
                "privacy_unit": deployment.unit(model),
                "privacy_unit_details": deployment.neighbors(model),
                "privacy_parameters": {"epsilon": record.epsilon, "delta": record.delta},
                "privacy_parameters_details": deployment.parameters(model),
            },
            "deployment_model": {
                "model_name": "Central",
                "actors": to_fill("who holds the data and runs the fit, who sees the model, and why they are trusted"),
                "release_type": "One release",
                "release_type_details": deployment.budget(model),
                "data_source_type": "Static",
                "access_type": "Non-interactive",
            },
            "accounting": {
                "post_processing": deployment.post_processing(model),
                "composition": deployment.composition(model),
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": deployment.preparation(model),
                "mechanisms": "\n".join(
                    f"- {line}" for line in (*deployment.mechanisms(model), *deployment.implementation(model))
                ),
                "justification": to_fill("why this epsilon, this unit and this method"),
            },
            "administrative": {
                "sources": to_fill("links to the model, its report and descriptions"),
                "registry_authors": [to_fill("who filled in this entry")],
            },
        },
    }
    return "\n".join(
        ["# Draft of an entry, from releases and public facts. Fill in what is marked TO FILL.", *_yaml(entry), ""]
    )


def _yaml(content: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    """The lines of a mapping. JSON's numbers and quoted strings are YAML's."""
    for key, value in content.items():
        if isinstance(value, dict):
            yield f"{indent}{key}:"
            yield from _yaml(value, indent + "  ")
        elif isinstance(value, list):
            yield f"{indent}{key}:"
            yield from (f"{indent}  - {_scalar(item)}" for item in value)
        elif isinstance(value, str) and "\n" in value:
            yield f"{indent}{key}: |"
            yield from (f"{indent}  {line}" for line in value.split("\n"))
        else:
            yield f"{indent}{key}: {_scalar(value)}"


def _scalar(value: object) -> str:
    if isinstance(value, float):
        # YAML 1.1 reads 1e-06 as text.
        text = repr(value)
        return text if "." in text or "e" not in text else text.replace("e", ".0e")
    return json.dumps(value, ensure_ascii=False)
