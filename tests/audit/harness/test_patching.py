import functools

import pytest

from dpsparse.audit.harness.patching import replaced, rewritten
from dpsparse.privacy import sensitivity
from dpsparse.privacy.accounting.gdp import is_certified
from dpsparse.privacy.guarantee import Guarantee


def test_an_edit_is_seen_by_every_name_and_undone():
    elsewhere = sensitivity.clipped_sum
    with rewritten(sensitivity.clipped_sum, ("feature_levels * weight_levels", "7")):
        assert elsewhere(1, 1, "replace-one") == 14
    assert elsewhere(1, 1, "replace-one") == 2


def test_an_edit_is_undone_after_an_error():
    with pytest.raises(RuntimeError), rewritten(sensitivity.count, ("return 1", "return 5")):
        raise RuntimeError
    assert sensitivity.count("replace-one") == 1


def test_an_edit_that_does_not_fit_is_refused():
    with pytest.raises(LookupError, match="0 times"), rewritten(sensitivity.count, ("return 2", "return 5")):
        pass


def test_caches_are_emptied_and_cached_properties_reached():
    assert not is_certified(9.0, 1.0, 1.1)
    with rewritten(is_certified, ("return False", "return True")):
        assert is_certified(9.0, 1.0, 1.1)
    assert not is_certified(9.0, 1.0, 1.1)
    prop = Guarantee.__dict__["mu_per_record"]
    assert isinstance(prop, functools.cached_property)
    with rewritten(prop, ("return largest_mu", "return 2 * largest_mu")):
        doubled = Guarantee(1.0, 1e-5).mu_per_record
    assert Guarantee(1.0, 1e-5).mu_per_record == doubled / 2


def test_static_methods_stay_static():
    class Owner:
        @staticmethod
        def five():
            return 5

    with replaced(Owner, five=lambda: 6):
        assert Owner.five() == 6
    assert Owner().five() == 5
