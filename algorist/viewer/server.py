"""The server of the page: for this machine alone, with a few answers and nothing else.

It listens on the loopback interface, answers only those who ask for it by its own name (so that no
page of another site can reach it under a name that leads here), reads no files on demand, and
bounds what a request may hold and how long it may take to arrive.
"""

from __future__ import annotations

import json
import socket
import threading
import traceback
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from numba.core.errors import NumbaError

from algorist.viewer.app import MOST_BYTES, App, ProblemError
from algorist.viewer.pages import Page, page

LOOPBACK = "127.0.0.1"
USUAL_PORT = 80
"""Of HTTP."""
READ_SECONDS = 10.0
"""In which a request must have arrived."""
MOST_CONNECTIONS = 32
"""At the same time; further ones are closed."""

Answer = tuple[HTTPStatus, str, bytes]
"""Status, type and content."""
_LINES = "application/x-ndjson"
"""What those accept who want to be told how far a computation is: lines of JSON."""


class Server(ThreadingHTTPServer):
    """Serves the page and what it asks for, until it is shut down."""

    daemon_threads = True
    request_queue_size = MOST_CONNECTIONS

    def __init__(self, app: App, port: int = 0):
        self.app, self.page = app, page()
        self._room = threading.BoundedSemaphore(MOST_CONNECTIONS)
        super().__init__((LOOPBACK, port), _Handler)
        self.names = own_names(self.server_port)

    @property
    def address(self) -> str:
        """What to type into a browser."""
        return f"http://{LOOPBACK}:{self.server_port}/"

    def process_request(self, request: Any, client_address: Any) -> None:
        """Give a connection a thread, if there are not too many."""
        if not self._room.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except Exception:  # there is no thread, which would leave the room
            self._room.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer a connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: what goes wrong outside of an answer is a client that went away."""


class _GoneError(Exception):
    """The client went away while something was computed for it."""


class _Handler(BaseHTTPRequestHandler):
    """One request, one answer, and the connection is closed (HTTP 1.0)."""

    server: Server
    server_version, sys_version = "algorist", ""
    timeout = READ_SECONDS

    def setup(self) -> None:
        """Stop reading after a while, however slowly bytes keep coming."""
        super().setup()
        self._patience = threading.Timer(READ_SECONDS, _stop_reading, [self.connection])
        self._patience.daemon = True
        self._patience.start()

    def finish(self) -> None:
        """Send what is left."""
        self._patience.cancel()
        super().finish()

    def do_GET(self) -> None:
        """Answer with the page, or the list of algorithms."""
        self._answer(
            {
                "/": self._page,
                "/api/algorithms": self._algorithms,
                "/api/previews": self._previews,
            }
        )

    do_HEAD = do_GET

    def do_POST(self) -> None:
        """Answer with a problem solved."""
        self._answer({"/api/solve": self._solved})

    def _answer(self, ways: dict[str, Callable[[], Answer | None]]) -> None:
        way = ways.get(self.path.split("?")[0])
        if self.headers.get("Host") not in self.server.names:
            self._send(_refusal(HTTPStatus.FORBIDDEN, "this server answers to its own name alone"))
        elif way is None:
            self._send(_refusal(HTTPStatus.NOT_FOUND, "there is nothing here"))
        else:
            answer = self._answered(way)
            if answer is not None:
                self._send(answer)

    def _answered(self, way: Callable[[], Answer | None]) -> Answer | None:
        """What to send, unless it has been sent already."""
        try:
            return way()
        except _GoneError:
            return None
        except Exception as error:
            return _refusal(HTTPStatus.INTERNAL_SERVER_ERROR, _mistake(error))

    def _page(self) -> Answer:
        return HTTPStatus.OK, "text/html; charset=utf-8", self.server.page.html.encode()

    def _algorithms(self) -> Answer:
        return _json(HTTPStatus.OK, self.server.app.algorithms())

    def _previews(self) -> Answer:
        return _json(HTTPStatus.OK, self.server.app.previews())

    def _solved(self) -> Answer | None:
        origin = self.headers.get("Origin")
        if origin is not None and origin.removeprefix("http://") not in self.server.names:
            return _refusal(HTTPStatus.FORBIDDEN, "this server answers its own page alone")
        if self.headers.get_content_type() != "application/json":
            return _refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "expected application/json")
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()):
            return _refusal(HTTPStatus.LENGTH_REQUIRED, "expected the length of the request")
        if len(length) > 9 or int(length) > MOST_BYTES:
            message = f"got a request of {length[:9]} bytes, expected at most {MOST_BYTES}"
            return _refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message)
        try:
            body = self.rfile.read(int(length))
        except OSError:  # the client dawdles, or went away
            return _refusal(HTTPStatus.REQUEST_TIMEOUT, "the request did not arrive")
        return self._solution(body)

    def _solution(self, body: bytes) -> Answer | None:
        """A trace, or why there is none: that too is an answer, which browsers do not report."""
        try:
            asked = json.loads(body)
        except (ValueError, RecursionError):
            return _refusal(HTTPStatus.BAD_REQUEST, "got a request that is no JSON")
        app = self.server.app
        if self.headers.get("Accept") != _LINES:
            return _json(HTTPStatus.OK, _trace(lambda: app.solve(asked)))
        try:
            self._send_head(HTTPStatus.OK, _LINES)
        except OSError as error:
            raise _GoneError from error
        try:
            found = _trace(lambda: app.solve(asked, self._send_line))
        except _GoneError:
            raise
        except Exception as error:
            found = {"error": _mistake(error)}
        self._send_line(found)
        return None

    def _send_line(self, value: dict[str, Any]) -> None:
        """Send a line; if the client went away, which is how it cancels, end the computation."""
        try:
            self.wfile.write(_text(value) + b"\n")
            self.wfile.flush()
        except OSError as error:
            raise _GoneError from error

    def _send(self, answer: Answer) -> None:
        status, kind, content = answer
        self._send_head(status, kind, len(content))
        if self.command != "HEAD":
            self.wfile.write(content)

    def _send_head(self, status: HTTPStatus, kind: str, length: int | None = None) -> None:
        """Without a length, the content ends where the connection does."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if length is not None:
            self.send_header("Content-Length", str(length))
        for name, value in _headers(self.server.page).items():
            self.send_header(name, value)
        self.end_headers()

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer what is no request, as the base class finds it, in the same form as all else."""
        self._send(_refusal(HTTPStatus(code), "got what is no request"))

    def log_message(self, format: str, *args: Any) -> None:
        """Keep quiet."""


def own_names(port: int) -> set[str]:
    """What those who ask may call a server: browsers leave out the usual port."""
    ends = (f":{port}", "") if port == USUAL_PORT else (f":{port}",)
    return {f"{name}{end}" for name in (LOOPBACK, "localhost") for end in ends}


def _stop_reading(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RD)
    except OSError:  # it is closed already
        return


def _trace(solve: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """A trace, or what is wrong with the problem."""
    try:
        return solve()
    except ProblemError as error:
        return {"error": str(error), "field": error.field, "at_field": error.text}
    except (ValueError, MemoryError) as error:
        return {"error": str(error) or "the problem is too large"}
    except NumbaError:
        return {"error": "the algorithm cannot be compiled"}


def _mistake(error: Exception) -> str:
    """What to say of an error that is not the user's; those who run it see all of it."""
    traceback.print_exc()
    return f"a mistake of the program, not yours ({type(error).__name__}): see where it runs"


def _refusal(status: HTTPStatus, message: str) -> Answer:
    return _json(status, {"error": message})


def _json(status: HTTPStatus, value: Any) -> Answer:
    return status, "application/json", _text(value)


def _text(value: Any) -> bytes:
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def _headers(page: Page) -> dict[str, str]:
    """What browsers shall not do: load anything from elsewhere, guess types, keep, be framed."""
    return {
        "Content-Security-Policy": f"{page.policy}; frame-ancestors 'none'",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-store",
    }
