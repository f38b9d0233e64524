"""Differentially private sparse linear regression that survives heavy-tailed responses.

The public names are loaded when first used, so that `import dpsparse` and the command line's help
stay fast.
"""

from importlib import import_module

__version__ = "0.1.0"

_LAZY = {
    "AdaHuber": "estimators.ada_huber",
    "AdaHuberCV": "estimators.ada_huber",
    "BudgetExceeded": "privacy.accounting.meter",
    "DPIHTH": "estimators.dp_iht",
    "DPIHTL": "estimators.dp_iht",
    "DPSLR": "estimators.dp_iht",
    "Evaluation": "model.evaluation_result",
    "LedgerError": "privacy.ledger.events",
    "NotPrivateWarning": "privacy.noise",
    "OnDisk": "data.on_disk",
    "PrivacyLedger": "privacy.ledger.ledger",
    "PrivacyRecord": "privacy.accounting.record",
    "PrivateSparseClassifier": "estimators.sparse_classifier",
    "PrivateSparsePoissonRegressor": "estimators.sparse_poisson",
    "PrivateSparseRegressor": "estimators.sparse_regressor",
    "PrivateSparseTwoPartRegressor": "estimators.two_part_regressor",
    "Streamed": "data.streamed",
    "UnreadResponsesWarning": "model.unread_responses",
    "check_pipeline": "estimators.pipelines",
    "compare_models": "model.effect_tables",
    "evaluate": "evaluation",
    "fit_and_evaluate": "held_out",
    "load_model": "model.json_file",
    "plan": "planning.forecast",
    "plot_budget": "report.budget_facts",
    "read_bounds": "io.bounds_file",
    "read_table": "data.raw_data",
    "save_model": "model.json_file",
    "scale_from_bounds": "io.bounds",
    "theory_parameters": "algorithms.iht.theory",
    "tune": "estimators.tuning",
}

__all__ = [*sorted(_LAZY), "__version__"]


def __getattr__(name):
    if name not in _LAZY:
        raise AttributeError(f"module 'dpsparse' has no attribute '{name}'")
    value = getattr(import_module(f"dpsparse.{_LAZY[name]}"), name)
    globals()[name] = value
    return value


def __dir__():
    return __all__
