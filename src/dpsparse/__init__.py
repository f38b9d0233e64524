"""Differentially private sparse linear regression that survives heavy-tailed responses.

The public names are loaded when first used, so that `import dpsparse` and the command line's help
stay fast.
"""

from importlib import import_module

__version__ = "0.1.0"

_HOME = {
    "AdaHuber": "estimators.ada_huber",
    "AdaHuberCV": "estimators.ada_huber",
    "BudgetExceeded": "privacy.meter",
    "DPIHTH": "estimators.iht",
    "DPIHTL": "estimators.iht",
    "DPSLR": "estimators.iht",
    "LedgerError": "privacy.ledger_events",
    "NotPrivateWarning": "privacy.noise",
    "OnDisk": "engine.on_disk",
    "PrivacyLedger": "privacy.ledger",
    "PrivacyRecord": "privacy.record",
    "PrivateSparseRegressor": "estimators.sparse_regressor",
    "Streamed": "engine.gpu",
    "load_model": "files.model_file",
    "plan": "planning",
    "save_model": "files.model_file",
    "scale_from_bounds": "estimators._public_units",
    "theory_parameters": "algorithms.theory",
    "tune": "estimators.tuning",
}

__all__ = [*sorted(_HOME), "__version__"]


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f"module 'dpsparse' has no attribute '{name}'")
    value = getattr(import_module(f"dpsparse.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__():
    return __all__
