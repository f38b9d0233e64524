"""No test waits for ever: each has a time limit, and so has each wait on a process, a thread, a server or a cluster."""

import ast
import re
from pathlib import Path

TESTS = Path(__file__).parent
# Where a limit is an argument of its name, and where it is the only one.
NAMED = re.compile(
    r"(subprocess\.(run|call|check_call|check_output)|urlopen|HTTPConnection|Barrier)$|\.wait_for_workers$"
)
# A barrier has its limit when it is made.
ALONE = re.compile(r"(?<!barrier)\.(wait|join|communicate|result)$")


def unlimited(source):
    """The waits without a limit in a file."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name, given = ast.unparse(node.func), {keyword.arg for keyword in node.keywords}
        is_alone = ALONE.search(name) and not node.args and not given
        if is_alone or (NAMED.search(name) and "timeout" not in given):
            yield f"line {node.lineno}: {name}"


def test_every_wait_has_a_limit():
    files = [path for path in TESTS.rglob("*.py") if path != Path(__file__)]
    assert files
    found = {str(path.relative_to(TESTS)): waits for path in files if (waits := list(unlimited(path.read_text())))}
    assert found == {}


def test_waits_without_a_limit_are_found():
    waits = "subprocess.run(command)", "thread.join()", "client.wait_for_workers(2)", "process.wait()"
    assert all(list(unlimited(wait)) for wait in waits)
    limited = "subprocess.run(command, timeout=9)", "thread.join(9)", "', '.join(words)", "process.wait(timeout=9)"
    assert not any(list(unlimited(wait)) for wait in limited)


def test_every_test_has_a_limit(request):
    limits = {"this one": float(request.config.getini("timeout"))}
    for name in ("slow", "long"):
        item = next((item for item in request.session.items if item.get_closest_marker(name)), None)
        if item is not None:
            limits[name] = item.get_closest_marker("timeout").args[0]
    assert all(60 <= seconds <= 2 * 3600 for seconds in limits.values())
