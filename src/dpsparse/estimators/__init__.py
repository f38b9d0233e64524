"""scikit-learn estimators: parameters, validation, fitted attributes."""
