"""Repeatable tests: what a private fit draws, and the examples of a property, depend on the name of the test alone.

Without it a test of what a fit finds fails by chance, once in so many runs. Processes that a test starts draw real
noise. The noise itself is tested in the folders named below, on the real source.
"""

import gc
import zlib

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from dpsparse.privacy.noise import SecureSource, SeededSource

REAL = ("tests/privacy/", "tests/audit/", "src/dpsparse/privacy/")
METHODS = ("laplace", "gaussian", "bits")
_real = {name: getattr(SecureSource, name) for name in METHODS}
_test = ""

# How long an example takes says nothing on a busy machine: every test has a time limit.
_ANY_MACHINE = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("repeatable", derandomize=True, database=None, **_ANY_MACHINE)
settings.register_profile("search", derandomize=False, **_ANY_MACHINE)
settings.load_profile("repeatable")
# A search draws this many times the examples that a property asks for.
SEARCH = 20
# Seconds a test may take, on a busy machine too; others have the limit in pyproject.toml.
LIMITS = {"long": 7200, "slow": 900}


@pytest.hookimpl(trylast=True)
def pytest_configure():
    """Collect tests without looking for garbage among them, which takes a third of the time.

    Take no numbers from the modules imported so far, which Hypothesis draws too: they differ from run to run.
    """
    gc.disable()
    if not _searches():
        providers._get_local_constants = lambda: providers._local_constants


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Give tests their time limits and, where a search is asked for, more examples."""
    for item in items:
        own = [name for name in ("timeout", *LIMITS) if item.get_closest_marker(name)]
        if _searches() or (own and own[0] != "timeout"):
            item.add_marker(pytest.mark.timeout(LIMITS["long" if _searches() else own[0]]))
    if _searches():
        for function in {getattr(item, "function", None) for item in items}:
            given = getattr(function, "_hypothesis_internal_use_settings", None)
            if given:
                more = settings(given, max_examples=SEARCH * given.max_examples)
                function._hypothesis_internal_use_settings = more


def pytest_collection_finish():
    """Look through memory again, but never through the thousands of tests collected, which stay to the end."""
    gc.freeze()
    gc.enable()


def _searches():
    return settings.get_current_profile_name() == "search"


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
