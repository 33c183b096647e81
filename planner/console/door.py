"""Closes connections that are no pages, so that there is always room for the next page.

Whoever reaches the port can open connections and say nothing. A console that waits for them runs
out of descriptors, and with it goes the button that stops the robots.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

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
