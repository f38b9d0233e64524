import pytest

from dpsparse.audit.harness.patching import replaced
from dpsparse.privacy import sensitivity


def test_an_attribute_is_put_back_after_an_error():
    before = sensitivity.count

    def failing():
        with replaced(sensitivity, count=lambda adjacency: 5):
            assert sensitivity.count("replace-one") == 5
            raise RuntimeError

    with pytest.raises(RuntimeError):
        failing()
    assert sensitivity.count is before


def test_static_methods_stay_static():
    class Owner:
        @staticmethod
        def five():
            return 5

    with replaced(Owner, five=lambda: 6):
        assert Owner.five() == 6
    assert Owner().five() == 5
