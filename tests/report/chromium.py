"""A headless Chromium, spoken to through a pipe: the DevTools protocol in JSON, without a driver or a port."""

import base64
import json
import os
import select
import subprocess
import time

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --hide-scrollbars --remote-debugging-pipe"
)
PATIENCE = 60


class Chromium:
    """A browser with one tab.

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
        self._buffer, self._count, self._session, self.events = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log", "Accessibility"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        """The result of a command; events that arrive meanwhile are kept."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._count:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def _read(self):
        deadline = time.monotonic() + PATIENCE
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._from], [], [], max(0, deadline - time.monotonic()))
            assert ready, "Chromium does not answer"
            piece = os.read(self._from, 2**20)
            assert piece, "Chromium has ended"
            self._buffer += piece
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def open(self, url):
        """Load a page to the end; its events start afresh."""
        self.events.clear()
        self.call("Page.navigate", url=url)
        while not self.events_named("Page.loadEventFired"):
            self.events.append(self._read())

    def events_named(self, name):
        """The parameters of all events of a name."""
        return [event["params"] for event in self.events if event.get("method") == name]

    def value(self, expression):
        """The value of an expression of JavaScript in the page."""
        reply = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in reply, reply
        return reply["result"].get("value")

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
        code = {"Tab": 9, "Enter": 13}[key]
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **text)
            text = {}

    def screenshot(self):
        """The whole page as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"])

    def close(self):
        """End the browser."""
        self._session = None
        try:
            self.call("Browser.close")
            self._process.wait(PATIENCE)
        finally:
            self._process.kill()
            self._process.wait()
            os.close(self._to)
            os.close(self._from)
