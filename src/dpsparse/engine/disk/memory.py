"""Available memory, which limits the levels that are kept to save further reads."""

import os
from pathlib import Path

from dpsparse.engine import config

_GROUP = Path("/sys/fs/cgroup")


def room() -> float:
    """Bytes that a fit may take."""
    return config.current.disk_memory_share * available_bytes()


def available_bytes(group: Path = _GROUP) -> int:
    """Memory that can be had without swapping, within the limit of the control group where there is one."""
    return max(0, min(_of_machine(), _of_group(group)))


def _of_machine() -> int:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        # Other systems do not report free memory: take half of the total.
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2 if hasattr(os, "sysconf") else 2**31


def _of_group(group: Path) -> int:
    try:
        limit, used = (group / name for name in ("memory.max", "memory.current"))
        stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        # Pages of files are counted as used, and are given up when memory is needed.
        return int(limit.read_text()) - int(used.read_text()) + int(stat["inactive_file"]) + int(stat["active_file"])
    except (OSError, ValueError, KeyError):
        return 2**63
