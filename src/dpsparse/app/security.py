"""Who may speak to the page: a browser that has its secret, at its own address, from its own forms.

- **Host**: a name that an attacker points at this machine (DNS rebinding) is not one of ours.
- **Origin**: a request that another site's page makes is refused; one that changes something must state its origin.
- **Token**: the address that the terminal prints has a random one. It buys a cookie that scripts cannot read and that
  the browser sends from our own pages only.
- **CSRF**: every form holds a second secret, which no other page can read.
- **Content policy**: nothing but our own script and style runs, nothing is fetched from elsewhere, nobody may frame us.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable

from starlette.datastructures import FormData, Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dpsparse.html import STYLE

ENTER = "/enter"
LARGEST_FORM = 16 * 2**20
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
# A report is a page of its own, with its style in it and no script at all. It is of this site, so that the page around
# it can learn how high it is.
REPORT_POLICY = (
    f"default-src 'none'; style-src 'sha256-{_HASH}'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'; sandbox allow-popups allow-same-origin"
)
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    # A page from the browser's memory would show choices that were changed since.
    "Cache-Control": "no-store",
}
NOT_OURS = "This request does not come from the page of dpsparse app on this machine. Open the address that it printed."
_STRANGER = """<!doctype html><html lang="en"><head><meta charset="utf-8"><link
rel="icon" href="data:,"><title>dpsparse: not let in</title></head>
<body><main><h1>This page needs its secret address</h1><p>Open the address that <code>dpsparse app</code> printed in the
terminal: it ends in a secret. After a restart there is a new one, and pages of the earlier run no longer work. Nothing
that was saved or spent is lost by that.</p></main></body></html>"""
_WELCOME = """<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=/">
<link rel="icon" href="data:,"><title>dpsparse</title></head>
<body><main><h1>dpsparse</h1><p><a href="/">Go on to the page</a></p></main>
</body></html>"""


class Guard:
    """The only door to the page.

    `hosts` are the names and ports by which the page may be called.
    """

    def __init__(self, app: ASGIApp, hosts: Iterable[str]) -> None:
        self._app = app
        self.allow(hosts)
        self.token, self.csrf, self._cookie = (secrets.token_urlsafe(32) for _ in range(3))
        # Cookies know no ports: another page on this machine has another name.
        self._name = f"dpsparse_{secrets.token_hex(4)}"

    def allow(self, hosts: Iterable[str]) -> None:
        """Set the names and ports by which the page may be called."""
        self._hosts, self._origins = frozenset(hosts), frozenset(f"http://{host}" for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope.setdefault("state", {})["csrf"] = self.csrf

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in {"Content-Security-Policy": POLICY, **_HEADERS}.items():
                    headers.setdefault(name, value)
            await send(message)

        answer = self._refusal(scope) or self._app
        await answer(scope, receive, with_headers)

    def _refusal(self, scope: Scope) -> Response | None:
        """The answer to a request that may not pass, or that enters; None for the others."""
        headers, request = Headers(scope=scope), Request(scope)
        if headers.get("host") not in self._hosts:
            return PlainTextResponse(NOT_OURS, 421)
        origin = headers.get("origin")
        changes = scope["method"] not in ("GET", "HEAD")
        if (origin is None and changes) or (origin is not None and origin not in self._origins):
            return PlainTextResponse(NOT_OURS, 403)
        if scope["path"] == ENTER and not changes:
            return self._entered(request)
        if headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            return PlainTextResponse(NOT_OURS, 403)
        if not _same(request.cookies.get(self._name, ""), self._cookie):
            return HTMLResponse(_STRANGER, 403)
        if changes and not headers.get("content-type", "").startswith("multipart/"):
            length = headers.get("content-length", "")
            if not length.isdigit() or int(length) > LARGEST_FORM:
                return PlainTextResponse("The form is too large, or does not say how large it is.", 413)
        return None

    def _entered(self, request: Request) -> Response:
        if not _same(request.query_params.get("token", ""), self.token):
            return HTMLResponse(_STRANGER, 403)
        # Not a redirect: a browser would withhold the cookie from one that began elsewhere.
        answer = HTMLResponse(_WELCOME)
        answer.set_cookie(self._name, self._cookie, httponly=True, samesite="strict", path="/")
        return answer


def require_csrf(form: FormData, request: Request) -> None:
    """Raise PermissionError unless a form was made by our own page."""
    if not _same(str(form.get("csrf", "")), request.state.csrf):
        raise PermissionError(NOT_OURS)


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())
