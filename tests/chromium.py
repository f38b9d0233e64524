"""A headless Chromium, spoken to through a pipe: the DevTools protocol in JSON, without a driver or a port."""

import base64
import json
import os
import select
import subprocess
import time
from contextlib import suppress

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --hide-scrollbars --remote-debugging-pipe"
)
PATIENCE = 60


class Tab:
    """A tab of a browser.

    Parameters
    ----------
    browser : Chromium
        The browser.
    """

    def __init__(self, browser):
        self.browser, self.events = browser, []
        target = browser.send(None, "Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.send(None, "Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        browser.tabs[self.session] = self
        for domain in ("Page", "Network", "Runtime", "Log", "Accessibility", "DOM"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        """The result of a command; events that arrive meanwhile are kept."""
        return self.browser.send(self.session, method, **parameters)

    def open(self, url):
        """Load a page to the end; its events start afresh."""
        self.events.clear()
        loader = self.call("Page.navigate", url=url)["loaderId"]
        deadline = time.monotonic() + PATIENCE
        while not self._is_loaded(loader):
            assert time.monotonic() < deadline, f"{url} was not loaded"
            self.browser.receive()

    def _is_loaded(self, loader):
        """Whether the page of a loader has come and is complete: the page before it may still send its own events."""
        came = [
            event.get("method") == "Page.frameNavigated" and event["params"]["frame"]["loaderId"] == loader
            for event in self.events
        ]
        after = self.events[came.index(True) :] if True in came else []
        return any(event.get("method") == "Page.loadEventFired" for event in after)

    def events_named(self, name):
        """The parameters of all events of a name."""
        return [event["params"] for event in self.events if event.get("method") == name]

    def value(self, expression):
        """The value of an expression of JavaScript in the page; a promise is awaited."""
        reply = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in reply, reply
        return reply["result"].get("value")

    def wait_for(self, expression):
        """Wait until an expression is true, also while a page is being replaced by the next."""
        deadline = time.monotonic() + PATIENCE
        while True:
            with suppress(AssertionError):
                if self.value(expression):
                    return
            assert time.monotonic() < deadline, f"{expression} never came true; see {self.value('location.href')}"
            time.sleep(0.02)

    def leave_by(self, action):
        """Do something that leads to another page, and wait for that page."""
        self.value("window.left = false")
        action()
        self.wait_for("window.left === undefined && document.readyState === 'complete'")

    def click(self, selector, leaves=False):
        """Click on an element."""
        clicked = f"document.querySelector({json.dumps(selector)}).click()"
        self.leave_by(lambda: self.value(clicked)) if leaves else self.value(clicked)

    def fill(self, selector, text):
        """Put a text into a field, as typing does."""
        field = f"document.querySelector({json.dumps(selector)})"
        self.value(
            f"(e => {{ e.value = {json.dumps(text)}; for (const name of ['input', 'change']) "
            f"e.dispatchEvent(new Event(name, {{bubbles: true}})); }})({field})"
        )

    def upload(self, selector, path):
        """Choose a file."""
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        node = self.call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.call("DOM.setFileInputFiles", files=[str(path)], nodeId=node)

    def show_as(self, width, scheme="light", media="screen"):
        """Set the window's width in CSS pixels, light or dark, screen or print."""
        narrow = width < 600
        # A phone zooms out where a page is too wide, and then calls itself wider: innerWidth is no measure.
        self.width = width
        size = {"width": width, "height": 800, "deviceScaleFactor": 2 if narrow else 1, "mobile": narrow}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)

    def press(self, key):
        """Press and release a key."""
        code = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32}[key]
        text = {"text": {"Enter": "\r", " ": " "}[key]} if key in ("Enter", " ") else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **text)
            text = {}

    def screenshot(self):
        """The whole page as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"])


class Chromium(Tab):
    """A browser, with a first tab.

    Parameters
    ----------
    binary : str
        The program.
    profile : path
        A new, empty folder.
    """

    def __init__(self, binary, profile):
        theirs_in, self._to = os.pipe()
        self._from, theirs_out = os.pipe()
        # Chromium reads commands from descriptor 3 and writes to 4; copies out of the way come first.
        script = 'exec 8<&"$1" 9>&"$2"; shift 2; exec 3<&8 4>&9 8<&- 9>&-; exec "$@"'
        start = ["bash", "-c", script, "bash", str(theirs_in), str(theirs_out), binary, f"--user-data-dir={profile}"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen([*start, *FLAGS.split()], pass_fds=(theirs_in, theirs_out), **quiet)
        os.close(theirs_in)
        os.close(theirs_out)
        self._buffer, self._count, self._answers, self.tabs = b"", 0, {}, {}
        super().__init__(self)

    def send(self, session, method, **parameters):
        """The result of a command to a tab, or to the browser itself."""
        self._count += 1
        number = self._count
        message = {"id": number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE
        while number not in self._answers:
            assert time.monotonic() < deadline, f"{method} was not answered"
            self.receive()
        answer = self._answers.pop(number)
        assert "error" not in answer, answer
        return answer["result"]

    def receive(self):
        """Take one message: an answer, or an event of a tab."""
        deadline = time.monotonic() + PATIENCE
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._from], [], [], max(0, deadline - time.monotonic()))
            assert ready, "Chromium does not answer"
            piece = os.read(self._from, 2**20)
            assert piece, "Chromium has ended"
            self._buffer += piece
        message, _, self._buffer = self._buffer.partition(b"\0")
        message = json.loads(message)
        if "id" in message:
            self._answers[message["id"]] = message
        elif message.get("sessionId") in self.tabs:
            self.tabs[message["sessionId"]].events.append(message)

    def close(self):
        """End the browser."""
        try:
            self.send(None, "Browser.close")
            self._process.wait(PATIENCE)
        finally:
            self._process.kill()
            self._process.wait(PATIENCE)
            os.close(self._to)
            os.close(self._from)
