import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import stores


@pytest.fixture(scope="session")
def people():
    """A table with all that files hold."""
    return stores.make_people()


@pytest.fixture
def folder(tmp_path, monkeypatch, people):
    """The working folder with the table."""
    monkeypatch.chdir(tmp_path)
    people.to_csv("people.csv", index=False)
    return tmp_path
