"""Repeatable noise: what a private fit draws in a test depends on the name of the test alone.

Without it a test of what a fit finds fails by chance, once in so many runs. Processes that a test starts draw real
noise. The noise itself is tested in the folders named below, on the real source.
"""

import zlib

import pytest

from dpsparse.privacy.noise import SecureSource, SeededSource

REAL = ("tests/privacy/", "tests/audit/", "src/dpsparse/privacy/")
METHODS = ("laplace", "gaussian", "bits")
_real = {name: getattr(SecureSource, name) for name in METHODS}
_test = ""


def _draw_from(name):
    source = SeededSource(zlib.crc32(name.encode()))
    for method in METHODS:
        repeatable = staticmethod(getattr(source, method))
        setattr(SecureSource, method, _real[method] if _test.startswith(REAL) else repeatable)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Begin the noise of a test."""
    global _test
    _test = item.nodeid
    _draw_from(_test)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    """Begin the noise of what tests share: which of them sets it up depends on how they are spread over processes."""
    if fixturedef.scope != "function":
        _draw_from(f"{fixturedef.baseid} {fixturedef.argname}")
    result = yield
    if fixturedef.scope != "function":
        _draw_from(_test)
    return result
