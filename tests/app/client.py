"""A browser without a screen: it keeps the cookie and follows redirects, and can lie about where it comes from."""

import html
import http.client
import json
import re
import secrets
import select
import signal
import subprocess
import sys
from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit

ROW = re.compile(r'name="(use|known|value)-(\d+)"')


@dataclass
class Reply:
    status: int
    text: str
    headers: dict
    path: str
    content: bytes

    @property
    def error(self):
        """The page's message about what went wrong."""
        shown = re.search(r'class="error"[^>]*>(.*?)</(?:div|p)>', self.text, re.S)
        return shown and html.unescape(" ".join(re.sub("<[^>]*>", "", shown[1]).split()))

    def hidden(self, name):
        """The value of a hidden field."""
        return re.search(rf'name="{name}" value="([^"]*)"', self.text)[1]


class Client:
    """Speaks to a page.

    Parameters
    ----------
    url : str
        The address that the page printed, with its token.
    """

    def __init__(self, url):
        parts = urlsplit(url)
        self.host, self.cookie, self.csrf = parts.netloc, None, None
        self.entered = self.get(f"{parts.path}?{parts.query}")

    def ask(self, method, path, body=None, **headers):
        """One request, without following where it leads."""
        connection = http.client.HTTPConnection(self.host, timeout=60)
        sent = {"Host": self.host} | ({"Cookie": self.cookie} if self.cookie else {}) | headers
        connection.request(method, path, body, {name: value for name, value in sent.items() if value is not None})
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        if answer.getheader("set-cookie"):
            self.cookie = answer.getheader("set-cookie").partition(";")[0]
        text = content.decode("utf-8", "replace")
        reply = Reply(answer.status, text, {name.lower(): value for name, value in answer.getheaders()}, path, content)
        if 'name="csrf"' in text:
            self.csrf = reply.hidden("csrf")
        return reply

    def get(self, path):
        """A page, after redirects."""
        return self._followed(self.ask("GET", path))

    def post(self, form, files=None, /, **fields):
        """Send a form; `files` has a name and bytes by field."""
        fields = {"csrf": self.csrf} | fields
        origin = {"Origin": f"http://{self.host}"}
        if files is None:
            sent = urlencode({name: value for name, value in fields.items() if value is not None})
            kind = "application/x-www-form-urlencoded"
        else:
            sent, kind = _multipart(fields, files)
        return self._followed(self.ask("POST", form, sent, **origin, **{"Content-Type": kind}))

    def _followed(self, reply):
        while reply.status == 303:
            reply = self.ask("GET", reply.headers["location"].partition("#")[0])
        return reply

    # The steps, as a user takes them.

    def choose(self, path, dataset="trial", **more):
        """Step 1."""
        return self.post("/file", path=path, dataset=dataset, **({"records_per_person": "1"} | more))

    def columns(self, target, known=None, drop=(), **more):
        """Step 2: `known` has a kind and a text by column."""
        shown = self.get("/columns")
        names = re.findall(r'<th scope="row">(.*?)</th>', shown.text)
        form = {"columns": shown.hidden("columns"), "target": target, "do": "next"}
        for place, name in enumerate(names):
            if name not in drop:
                form[f"use-{place}"] = "on"
            form[f"known-{place}"], form[f"value-{place}"] = (known or {}).get(name, ("learn", ""))
        return self.post("/columns", **(form | more))

    def grant(self, dataset="trial", epsilon="3", delta="1e-6", sure="on"):
        """Step 3, the budget."""
        people = {"records_per_person": "1", "back": "accuracy"}
        asked = {"dataset": dataset, "grant_epsilon": epsilon, "grant_delta": delta, "sure": sure}
        return self.post("/accuracy/grant", **people, **asked)

    def plan(self, epsilon="1", sparsity="3", **more):
        """Step 3, epsilon."""
        return self.post("/accuracy", **({"epsilon": epsilon, "sparsity": sparsity, "delta": "", "holdout": ""} | more))

    def spend(self, sure="on", **changed):
        """Step 5."""
        shown = self.get("/spend")
        tickets = {name: shown.hidden(name) for name in ("ticket", "seen")}
        return self.post("/spend", **(tickets | {"sure": sure} | changed))

    def ready(self, target="cost", **planned):
        """All steps up to the confirmation."""
        self.choose("people.csv")
        self.columns(target, drop=["id"])
        self.grant()
        return self.plan(**planned)

    def state(self, job):
        """How far a fit is."""
        return json.loads(self.get(f"{job}/state").text)


def _multipart(fields, files):
    mark = secrets.token_hex(8)
    body = b""
    for name, value in fields.items():
        if value is not None:
            body += f'--{mark}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
    for name, (file, content) in files.items():
        body += f'--{mark}\r\nContent-Disposition: form-data; name="{name}"; filename="{file}"\r\n\r\n'.encode()
        body += content + b"\r\n"
    return body + f"--{mark}--\r\n".encode(), f"multipart/form-data; boundary={mark}"


def first_line(stream, seconds=120):
    """The first line that a program writes; none if it is not there in time."""
    ready, _, _ = select.select([stream], [], [], seconds)
    return stream.readline() if ready else ""


class Program:
    """`dpsparse app`, or a script that runs it, as a process of its own.

    Parameters
    ----------
    arguments : sequence of str
        Of the command.
    script : path or None
        Run in its place; it gets the arguments.
    """

    def __init__(self, *arguments, script=None):
        what = ["-m", "dpsparse"] if script is None else [str(script)]
        command = [sys.executable, *what, "app", "--json", "--no-browser", *map(str, arguments)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        line = first_line(self.process.stdout)
        assert line, "the page did not start"
        self.url = json.loads(line)["url"]

    def kill(self):
        """End it without warning."""
        self.process.kill()
        self.process.wait(60)
        self.process.stdout.close()

    def end(self, by=signal.SIGTERM):
        """End it as a shutdown does, or as Ctrl-C does."""
        self.process.send_signal(by)
        self.last_words, _ = self.process.communicate(timeout=30)
        return self.process.returncode
