"""Serves the page and its connection with FastAPI and uvicorn, in a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Callable, Iterable
from importlib import resources

import uvicorn
from fastapi import FastAPI, Request, Response, WebSocket
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from planner.console.access import Access
from planner.console.connection import Connection, Hub, MakeShow
from planner.console.protocol import MAX_MESSAGE
from planner.world.errors import PlannerError

# Closes connections that are no pages, so that there is always room for the next page.
#
# Whoever reaches the port can open connections and say nothing. A console that waits for them runs
# out of descriptors, and with it goes the button that stops the robots.

# Wall seconds from a connection to the end of its requests, and from a close to the end.
REQUESTS_S, CLOSE_S = 30.0, 10.0
# At a time: connections with requests; those of pages that are being closed.
MAX_REQUESTS, MAX_CLOSING = 100, 100


class RequestProtocol(H11Protocol):
    """Requests. An honest one is answered within milliseconds: of too many the oldest is closed."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See `asyncio.Protocol`."""
        super().connection_made(transport)
        self.made_s = self.loop.time()
        _spare_newest((c for c in self.connections if isinstance(c, RequestProtocol)), MAX_REQUESTS)
        self.loop.call_later(REQUESTS_S, self._end)

    def _end(self) -> None:
        # One that has become a page's is no longer among them.
        if self in self.connections:
            self.transport.abort()


class PageProtocol(WebSocketsSansIOProtocol):
    """A page's connection; once closed, it does not wait long for a peer that reads nothing."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.Protocol`."""
        super().connection_made(transport)
        self.made_s = self.loop.time()
        pages = [c for c in self.connections if isinstance(c, PageProtocol)]
        _spare_newest((page for page in pages if page.is_closing), MAX_CLOSING)
        self.loop.call_later(CLOSE_S, self._look)

    @property
    def is_closing(self) -> bool:
        """Whether the server has closed it, and the peer has not answered."""
        return self.close_sent or self.transport.is_closing()

    def _look(self) -> None:
        if self.is_closing:
            self.transport.abort()
        elif self in self.connections:
            self.loop.call_later(CLOSE_S, self._look)


def _spare_newest(open_: Iterable[RequestProtocol | PageProtocol], most: int) -> None:
    """Closes the oldest ones at once."""
    for old in sorted(open_, key=lambda protocol: protocol.made_s)[:-most]:
        old.transport.abort()


_PAGE = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/console.css": ("console.css", "text/css; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
    "/console.js": ("console.js", "text/javascript; charset=utf-8"),
}
# Pictures are made from received bytes (blob:); nothing else is loaded from anywhere.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_START_S, _END_S = 20.0, 5.0
_FORBIDDEN = 403


def make_app(access: Access, hub: Hub, make_show: MakeShow) -> FastAPI:
    """The web application: three files and one WebSocket."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    folder = resources.files("planner.console.static")
    files = {
        path: (folder.joinpath(name).read_bytes(), kind) for path, (name, kind) in _PAGE.items()
    }

    async def page(request: Request) -> Response:
        if not access.is_own(request.headers.get("host", ""), ""):
            return Response("this name does not lead here", _FORBIDDEN, media_type="text/plain")
        data, kind = files[request.url.path]
        return Response(data, media_type=kind, headers=_HEADERS)

    for path in files:
        app.add_api_route(path, page, methods=["GET"], response_class=Response)

    async def connect(ws: WebSocket) -> None:
        headers = ws.headers
        if not access.is_own(headers.get("host", ""), headers.get("origin", "")):
            await ws.close(reason="a page of another site")
            return
        await ws.accept()
        await Connection(ws, access, hub, make_show).run()

    app.add_api_websocket_route("/ws", connect)
    return app


class Server:
    """A server in a thread of its own.

    Attributes:
        address: of the page.
    """

    def __init__(self, access: Access, hub: Hub, make_show: MakeShow) -> None:
        """Takes the port; nothing is served before `start`.

        Raises:
            PlannerError: if the address cannot be used.
        """
        self._socket = _listen(access)
        self._access, self._hub = access, hub
        port = self._socket.getsockname()[1]
        name = f"[{access.host}]" if ":" in access.host else access.host
        self.address = f"http://{name}:{port}/"
        config = uvicorn.Config(
            make_app(access, hub, make_show),
            log_level=logging.WARNING,
            access_log=False,
            lifespan="off",
            http=RequestProtocol,
            ws=PageProtocol,
            ws_max_size=4 * MAX_MESSAGE,
            ws_per_message_deflate=False,
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, name="console", daemon=True)

    def addresses(self) -> tuple[str, ...]:
        """The addresses to open, with their tokens; the one that may give orders first."""
        if not self._access.control:
            return (self.address,)
        tokens = (self._access.control, self._access.view)
        return tuple(f"{self.address}#token={token}" for token in tokens if token)

    def start(self) -> None:
        """Starts the thread and returns when pages can be opened.

        Raises:
            PlannerError: if it does not start in time.
        """
        self._thread.start()
        if not self._hub.started.wait(_START_S):
            raise PlannerError(f"the console did not start within {_START_S:g} s")

    def stop(self) -> None:
        """Ends it; open pages see that the server has gone."""
        self._server.should_exit = True
        self._hub.close()
        if self._thread.ident is not None:
            self._thread.join(_END_S)
        self._socket.close()

    def wait(self, is_over: Callable[[], bool], period_s: float = 0.2) -> None:
        """Waits until something else is over, or the server has ended."""
        while not is_over() and self._thread.is_alive():
            self._thread.join(period_s)

    def _run(self) -> None:
        async def serve() -> None:
            self._hub.begin(asyncio.get_running_loop())
            await self._server.serve(sockets=[self._socket])

        asyncio.run(serve())


def _listen(access: Access) -> socket.socket:
    family = socket.AF_INET6 if ":" in access.host else socket.AF_INET
    taken = socket.socket(family, socket.SOCK_STREAM)
    try:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind((access.host, access.port))
        taken.listen(128)
        taken.setblocking(False)
    except OSError as error:
        taken.close()
        reason = error.strerror or str(error)
        raise PlannerError(
            f"console: port {access.port} of {access.host} cannot be used: {reason}; "
            "choose another one"
        ) from None
    return taken
