"""`progress=True`: a bar in a notebook and on a terminal, and none that stays."""

import io
import types

import pytest
import rich.console

from dpsparse.estimators import _progress_bar
from dpsparse.estimators._progress_bar import shown


def test_a_notebook_has_a_bar_that_goes_away(monkeypatch):
    seen = []
    handle = types.SimpleNamespace(update=seen.append)
    display = types.SimpleNamespace(HTML=str, display=lambda html, display_id: seen.append(html) or handle)
    fake = types.SimpleNamespace(get_ipython=lambda: types.SimpleNamespace(kernel=object()))
    monkeypatch.setitem(_progress_bar.sys.modules, "IPython", fake)
    monkeypatch.setitem(_progress_bar.sys.modules, "IPython.display", display)

    def fit():
        with shown(True) as told:
            told(3.5, 7)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit()
    assert 'value="3.50"' in seen[1]
    assert "50%" in seen[1]
    assert seen[-1] == ""


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_terminal_has_a_bar_and_a_file_has_none(monkeypatch, is_terminal):
    monkeypatch.setattr(_progress_bar, "_in_notebook", lambda: False)
    stream, console = io.StringIO(), rich.console.Console
    monkeypatch.setattr(
        rich.console, "Console", lambda stderr: console(file=stream, force_terminal=is_terminal, width=80)
    )
    with shown(True) as told:
        told(7, 7)
    assert ("fitting" in stream.getvalue()) == is_terminal


def test_a_function_is_told_itself():
    with shown(print) as told:
        assert told is print
    with shown(None) as told:
        assert told is None
