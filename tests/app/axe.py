"""axe-core, the accessibility checker, from npm: fetched once into a cache, and never part of this repository."""

import hashlib
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

VERSION = "4.14.0"
SHA256 = "2277b0a3ef47af9b52497faa3e71598e86e0a0e5e6eb295207a5657ede4709af"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "dpsparse-tests"


def axe_source():
    """The script; the test is skipped where it cannot be had."""
    archive = CACHE / f"axe-core-{VERSION}.tgz"
    if not archive.exists():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("axe-core is fetched by npm, which is not installed: apt-get install npm")
        CACHE.mkdir(parents=True, exist_ok=True)
        command = [npm, "pack", f"axe-core@{VERSION}", "--silent", "--pack-destination", str(CACHE)]
        try:
            done = subprocess.run(command, capture_output=True, timeout=60, cwd=CACHE)
        except subprocess.TimeoutExpired:
            done = None
        if done is None or done.returncode:
            pytest.skip("npm cannot fetch axe-core: no network?")
    assert hashlib.sha256(archive.read_bytes()).hexdigest() == SHA256, f"{archive} is not what npm published"
    with tarfile.open(archive) as files:
        return files.extractfile("package/axe.min.js").read().decode()


RUN = """axe.run(document, {iframes: false, resultTypes: ['violations']}).then(found => found.violations
  .filter(each => ['serious', 'critical'].includes(each.impact))
  .map(each => each.id + ': ' + each.nodes.slice(0, 3).map(node => node.target.join(' ')).join('; ')))"""


def findings(tab, source):
    """Serious findings on the page of a tab."""
    tab.value(f"{source}; true")
    return tab.value(RUN)
