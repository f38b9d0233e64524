"""A PostgreSQL server in a temporary folder, which can be killed and started again."""

import contextlib
import glob
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

PASSWORD = "not-a-secret"


def _tool(name):
    program = shutil.which(name) or next(iter(sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"))[::-1]), None)
    if program is None:
        reason = "PostgreSQL is not installed: apt-get install postgresql"
        if os.environ.get("DPSPARSE_REQUIRE_POSTGRES"):
            pytest.fail(reason)
        pytest.skip(reason)
    return program


def _server_user():
    """PostgreSQL refuses to run as root."""
    pwd = pytest.importorskip("pwd", reason="the PostgreSQL server of these tests needs a POSIX system")
    if os.geteuid() != 0:
        return {}, pwd.getpwuid(os.geteuid())
    for name in ("postgres", "nobody"):
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}, user
    pytest.skip("no user to run PostgreSQL as")


class Server:
    """A server with one empty database, on loopback and with a password."""

    def __init__(self):
        initdb, self._pg_ctl = _tool("initdb"), _tool("pg_ctl")
        as_user, user = _server_user()
        self.folder = tempfile.mkdtemp(prefix="pg", dir="/tmp")
        if as_user:
            os.chown(self.folder, user.pw_uid, user.pw_gid)
        password_file = os.path.join(self.folder, "password")
        with open(password_file, "w") as file:
            file.write(PASSWORD)
        os.chmod(password_file, 0o644)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"postgresql://keeper:{PASSWORD}@127.0.0.1:{port}/postgres"
        self._data = os.path.join(self.folder, "data")
        # Else it syncs every file after a crash, one by one, which takes seconds; PostgreSQL 14 and later know it.
        self._options = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories={self.folder}"
        self._options += " -c recovery_init_sync_method=syncfs"
        self._quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": self.folder, **as_user}
        login = ["--username=keeper", "--auth=scram-sha-256", f"--pwfile={password_file}"]
        made = [initdb, "-D", self._data, "--no-sync", "--encoding=UTF8", "--locale=C", *login]
        subprocess.run(made, check=True, timeout=120, **self._quiet)

    def _control(self, *command, check=True):
        arguments = [self._pg_ctl, "-D", self._data, "-w", *command]
        return subprocess.run(arguments, check=check, timeout=120, **self._quiet).returncode

    def start(self):
        """Start the server, also after it was killed: children of the old one may take a moment to end."""
        log = ["-l", os.path.join(self.folder, "log"), "-o", self._options, "start"]
        for _ in range(40):
            if self._control(*log, check=False) == 0:
                return
            time.sleep(0.1)
        pytest.fail(Path(self.folder, "log").read_text()[-2000:])

    def stop(self):
        """Stop the server at once."""
        self._control("-m", "immediate", "stop")

    @property
    def postmaster(self):
        """The id of the first process."""
        return int(Path(self._data, "postmaster.pid").read_text().split()[0])

    def kill(self, *processes):
        """Send SIGKILL to processes of the server that still run."""
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    def processes(self):
        """The postmaster and its children."""
        return [
            self.postmaster,
            *map(int, Path(f"/proc/{self.postmaster}/task/{self.postmaster}/children").read_text().split()),
        ]


@contextlib.contextmanager
def server():
    """A server that runs for the length of the block."""
    made = Server()
    made.start()
    try:
        yield made
        made.stop()
    finally:
        shutil.rmtree(made.folder)
