"""axe-core, the accessibility checker, from npm: fetched once into a cache, and never part of this repository.

``python tests/app/axe.py`` fetches it beforehand, as CI does.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import urllib.request
from pathlib import Path

VERSION = "4.14.0"
SHA256 = "2277b0a3ef47af9b52497faa3e71598e86e0a0e5e6eb295207a5657ede4709af"
ADDRESS = f"https://registry.npmjs.org/axe-core/-/axe-core-{VERSION}.tgz"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dpsparse-tests"
ARCHIVE = CACHE / f"axe-core-{VERSION}.tgz"


def fetch():
    """Put the archive into the cache: by npm, which knows a mirror, or straight from npm's registry."""
    if not ARCHIVE.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        if not _packed_by_npm():
            with urllib.request.urlopen(ADDRESS, timeout=60) as answer:
                ARCHIVE.write_bytes(answer.read())
    if hashlib.sha256(ARCHIVE.read_bytes()).hexdigest() != SHA256:
        raise OSError(f"{ARCHIVE} is not what npm published; remove it")


def _packed_by_npm():
    npm = shutil.which("npm")
    if npm is None:
        return False
    command = [npm, "pack", f"axe-core@{VERSION}", "--silent", "--pack-destination", str(CACHE)]
    try:
        return subprocess.run(command, capture_output=True, timeout=60, cwd=CACHE).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def axe_source():
    """The script; the test is skipped where it cannot be had, and fails there in CI."""
    import pytest

    try:
        fetch()
    except OSError as error:
        reason = f"axe-core cannot be fetched from npm: {error}"
        if os.environ.get("DPSPARSE_REQUIRE_AXE"):
            pytest.fail(reason)
        pytest.skip(reason)
    with tarfile.open(ARCHIVE) as files:
        return files.extractfile("package/axe.min.js").read().decode()


RUN = """axe.run(document, {iframes: false, resultTypes: ['violations'], %s}).then(found => found.violations
  .map(each => `${each.impact} ${each.id}: ` + each.nodes.slice(0, 3).map(node => node.target.join(' ')).join('; ')))"""


def findings(tab, source):
    """What axe-core finds on the page of a tab, of any impact: in light, and what may differ in dark."""
    tab.value(f"{source}; true")
    seen = []
    for scheme, rules in (("light", ""), ("dark", "runOnly: ['color-contrast']")):
        tab.show_as(1024, scheme)
        seen += tab.value(RUN % rules)
    tab.show_as(1024)
    return seen


if __name__ == "__main__":
    try:
        fetch()
    except OSError as error:
        sys.exit(f"axe-core {VERSION} cannot be fetched from npm: {error}")
    print(f"axe-core {VERSION} is in {ARCHIVE}")
