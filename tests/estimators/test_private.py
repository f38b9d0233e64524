"""The base of all private estimators knows nothing of what is fitted: here a classifier joins."""

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.base import ClassifierMixin, clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from dpsparse import DPIHTH, PrivacyRecord
from dpsparse.datasets import make_heavy_tailed
from dpsparse.estimators._private import PrivateEstimator
from dpsparse.html import tag

X, Y, _ = make_heavy_tailed(500, 5, 2, random_state=0)


@dataclass(frozen=True)
class ConstantClass:
    """A released model that is not linear."""

    privacy: PrivacyRecord
    context: object = None

    def _repr_html_(self):
        """One paragraph."""
        return tag("p", "always True")


class ConstantClassifier(ClassifierMixin, PrivateEstimator):
    """A classifier whose releases are none."""

    def __init__(
        self,
        *,
        epsilon=1.0,
        delta=None,
        adjacency="replace-one",
        records_per_person=1,
        random_state=None,
        ledger=None,
        dataset=None,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.adjacency = adjacency
        self.records_per_person = records_per_person
        self.random_state = random_state
        self.ledger = ledger
        self.dataset = dataset

    def fit(self, X, y):
        """Publish a constant."""
        self._check_guarantee()
        meter = self._open_meter(len(y))
        self._reset()
        self.classes_ = np.array([False, True])
        self._publish(ConstantClass(meter.record()))
        return self


def test_a_classifier_joins():
    model = ConstantClassifier(epsilon=2.0)
    assert is_classifier(model)
    assert not is_regressor(model)
    assert get_tags(model).input_tags.sparse
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    model.fit(X, Y > 0)
    check_is_fitted(model)
    assert model.privacy_.guarantee.epsilon == 2.0
    assert model.privacy_ is model.released_.privacy
    assert model._repr_html_() == "<p>always True</p>"
    assert not hasattr(clone(model), "released_")
    with pytest.raises(ValueError, match="epsilon"):
        ConstantClassifier(epsilon=0).fit(X, Y > 0)


def test_a_regression_is_one_of_them():
    assert is_regressor(DPIHTH())
    assert isinstance(DPIHTH(), PrivateEstimator)
    assert get_tags(DPIHTH()).regressor_tags.poor_score
