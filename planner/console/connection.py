"""One page's connection: hello, then news at the pace at which the page draws them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Protocol

from fastapi import WebSocket, WebSocketDisconnect

from planner.console import protocol
from planner.console.access import Access, Show
from planner.console.orders import Done
from planner.console.protocol import Drawn, Hello, Pictures, Play, ProtocolError, Seek, Trace

# Wall seconds: for the hello, for the page to draw news, between looks at that.
HELLO_S, DRAW_S, _LOOK_S = 10.0, 30.0, 5.0
# At most one news in each span of this length. The spans are the same for all pages, so that news
# that were late once make none of the next ones late, and pages that have the same are woken
# together and get the same, made once.
NEWS_S = 0.05
# After a span's end, so that a timer's grain leads into the next one.
_GRAIN_S = 0.0005
# For the close frame, which waits behind what a page that reads nothing has not read.
_CLOSE_S = 0.5
# After a change, until the others of the same moment have come.
_SETTLE_S = 0.008
# Of pages; of those that have not said hello yet; of one page's errors and outcomes.
MAX_PAGES, MAX_GREETED, MAX_ERRORS, MAX_WAITING = 100, 100, 20, 200
# Close codes of the application (RFC 6455, 7.4.2).
REFUSED, BAD, SLOW, FULL = 4401, 4400, 4408, 4429
# JSON would take a third more; the first byte of a picture's frame is the length of the name.
_MAX_NAME = 255


def span(at_s: float) -> int:
    """The span of a moment; in each a page gets at most one news."""
    return int(at_s // NEWS_S)


def until_next(at_s: float) -> float:
    """From a moment into the next span."""
    return NEWS_S - at_s % NEWS_S + _GRAIN_S


class MakeShow(Protocol):
    """Makes what a connection shows."""

    def __call__(self, hello: Hello, *, may_order: bool) -> Show:
        """For a page that was let in."""


class Hub:
    """Wakes the connections when something has changed, from any thread, and limits their number.

    A new page is always let in, as it has the button that stops the robots: of too many the least
    important goes, of equals the one that came first.
    """

    def __init__(self) -> None:
        self.started = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        # In the order in which they came.
        self._greeted: list[Connection] = []
        self._guests: list[Connection] = []
        self._pending = False
        self._thread = 0
        # In which span they were woken last.
        self._span = 0

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """The server's loop runs; called in it."""
        self._loop, self._thread = loop, threading.get_ident()
        self.started.set()

    def close(self) -> None:
        """The server ends; later changes wake nobody."""
        self._loop = None

    def changed(self) -> None:
        """Something has changed; of many calls at a time only one counts."""
        loop = self._loop
        if loop is None or self._pending:
            return
        self._pending = True
        if threading.get_ident() == self._thread:
            self._wake_later(loop)
            return
        with contextlib.suppress(RuntimeError):
            # The loop may have ended meanwhile.
            loop.call_soon_threadsafe(self._wake_later, loop)

    def call(self, delay_s: float, what: object) -> None:
        """Calls something without arguments in the loop, after a while."""
        if self._loop is not None and callable(what):
            self._loop.call_later(delay_s, what)

    def every(self, period_s: float, what: Callable[[], None]) -> None:
        """Calls something in the loop again and again, until the server ends."""
        loop = self._loop

        def again() -> None:
            if self._loop is None or loop is None:
                return
            begun_s = loop.time()
            what()
            loop.call_at(max(begun_s + period_s, loop.time() + period_s / 4), again)

        if loop is not None:
            loop.call_soon_threadsafe(again)

    @property
    def pages(self) -> int:
        """How many are connected."""
        return len(self._guests)

    def greet(self, guest: Connection) -> None:
        """A connection that has not said hello yet."""
        self._greeted.append(guest)
        if len(self._greeted) > MAX_GREETED:
            self._greeted.pop(0).leave(f"more than {MAX_GREETED} connections say nothing")

    def join(self, guest: Connection) -> None:
        """A page that wants to be woken."""
        self._guests.append(guest)
        if len(self._guests) > MAX_PAGES:
            least = min(self._guests[:-1], key=lambda each: each.importance)
            self._guests.remove(least)
            least.leave(f"more than {MAX_PAGES} pages are open; reload to come back")

    def leave(self, guest: Connection) -> None:
        """It has ended, or is no longer greeted."""
        for guests in (self._greeted, self._guests):
            if guest in guests:
                guests.remove(guest)

    def _wake_later(self, loop: asyncio.AbstractEventLoop) -> None:
        at_s = time.monotonic() + _SETTLE_S
        loop.call_later(
            _SETTLE_S + (until_next(at_s) if span(at_s) == self._span else 0.0), self._wake
        )

    def _wake(self) -> None:
        self._pending = False
        self._span = span(time.monotonic())
        for guest in self._guests:
            guest.wake.set()


class _LeftError(Exception):
    """The connection ends with a code and a reason."""

    def __init__(self, code: int, reason: str) -> None:
        self.code, self.reason = code, reason


class Connection:
    """Serves one page until it goes."""

    def __init__(self, ws: WebSocket, access: Access, hub: Hub, make_show: MakeShow) -> None:
        """The socket is accepted."""
        self._ws, self._access, self._hub, self._make_show = ws, access, hub, make_show
        self.wake = asyncio.Event()
        self._left: asyncio.Future[_LeftError] = asyncio.get_running_loop().create_future()
        self._show: Show | None = None
        # How long it waits for the hello, while it does.
        self._hello: asyncio.Timeout | None = None
        self._outbox: deque[str] = deque()
        self._loop = asyncio.get_running_loop()
        # The version that the page has, and the one that it is drawing.
        self._has = self._sent = 0
        self._sent_s = 0.0
        # Since when the page is to read what is being sent; None if nothing is.
        self._sending_s: float | None = None
        # There was news while the page was drawing.
        self._missed = False
        self._picture = 0
        self._with_pictures = False
        self._errors = 0

    @property
    def importance(self) -> int:
        """As that of what it shows."""
        return 0 if self._show is None else self._show.importance

    def leave(self, reason: str) -> None:
        """Ends it, to make room for others."""
        if not self._left.done():
            self._left.set_result(_LeftError(FULL, reason))
        if self._hello is not None:
            self._hello.reschedule(self._loop.time())

    async def run(self) -> None:
        """Ends when the page has gone or is sent away; the reason is in the close frame."""
        self._hub.greet(self)
        try:
            show = await self._greet()
        except _LeftError as left:
            await self._close(left)
            return
        except (WebSocketDisconnect, RuntimeError):
            return
        finally:
            self._hub.leave(self)
        self._show = show
        self._hub.join(self)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._send_all(show))
                tasks.create_task(self._receive_all(show))
                tasks.create_task(self._guard())
        except* _LeftError as left:
            await self._close(left.exceptions[0])
        except* (WebSocketDisconnect, RuntimeError, OSError):
            # Gone; a send to a closed socket raises a RuntimeError.
            pass
        finally:
            self._hub.leave(self)
            show.close()

    async def _greet(self) -> Show:
        try:
            async with asyncio.timeout(HELLO_S) as self._hello:
                text = await self._text()
            self._hello = None
            hello = protocol.read(text)
        except TimeoutError:
            if self._left.done():
                raise self._left.result() from None
            raise _LeftError(BAD, "no hello came") from None
        except ProtocolError as error:
            raise _LeftError(BAD, str(error)) from None
        if not isinstance(hello, Hello):
            raise _LeftError(BAD, f"expected hello, got {hello.type}")
        if hello.version != protocol.VERSION:
            raise _LeftError(
                BAD,
                f"the page speaks version {hello.version}, the server {protocol.VERSION}: reload",
            )
        if not self._access.allows(hello.token):
            raise _LeftError(REFUSED, "wrong token")
        show = self._make_show(hello, may_order=self._access.may_order(hello.token))
        self._say(
            {"type": "welcome", "version": protocol.VERSION, "mode": show.mode, **show.about()}
        )
        return show

    async def _send_all(self, show: Show) -> None:
        while True:
            self._sending_s = time.monotonic()
            while self._outbox:
                await self._ws.send_text(self._outbox.popleft())
            await self._send_news(show)
            self._sending_s = None
            await self.wake.wait()
            self.wake.clear()

    async def _send_news(self, show: Show) -> None:
        """Sends what is new if the page is ready."""
        now_s = time.monotonic()
        if self._sent != self._has:
            self._missed = True
            return
        if span(self._sent_s) == span(now_s):
            self._loop.call_later(until_next(now_s), self.wake.set)
            return
        for number, name, jpeg in show.pictures(self._picture, cameras=self._with_pictures):
            self._picture = number
            head = name.encode()[:_MAX_NAME]
            await self._ws.send_bytes(bytes([len(head)]) + head + jpeg)
        if show.table.version != self._has:
            patch = show.table.patch(self._has)
            self._sent, self._sent_s = patch.version, now_s
            await self._ws.send_text(patch.text)

    async def _guard(self) -> None:
        """Sends a page away that has to make room, or does not read or draw.

        One timer costs less than one a news.
        """
        while True:
            await asyncio.wait([self._left], timeout=_LOOK_S)
            if self._left.done():
                raise self._left.result()
            now_s = time.monotonic()
            if self._sending_s is not None and now_s - self._sending_s > DRAW_S:
                raise _LeftError(SLOW, f"the page read nothing for {DRAW_S:g} s")
            if self._sent != self._has and now_s - self._sent_s > DRAW_S:
                raise _LeftError(SLOW, f"the page drew nothing for {DRAW_S:g} s")

    async def _receive_all(self, show: Show) -> None:
        while True:
            text = await self._text()
            try:
                await self._take(show, protocol.read(text))
            except ProtocolError as error:
                self._errors += 1
                if self._errors > MAX_ERRORS:
                    raise _LeftError(BAD, "too many messages that cannot be used") from None
                self._say({"type": "error", "text": str(error)})

    async def _take(self, show: Show, message: protocol.Incoming) -> None:
        match message:
            case Drawn():
                if message.version == self._sent:
                    self._has = self._sent
                    if self._missed:
                        self._missed = False
                        self.wake.set()
            case Pictures():
                self._with_pictures = message.on
                show.want_pictures(message.on)
            case Trace():
                found = show.trace(message.key)
                self._say({"type": "trace", "key": message.key, "found": found})
            case Seek() | Play():
                await show.control(message)
            case Hello():
                raise ProtocolError("type: hello comes only once")
            case _:
                await show.order(message, self._outcome_of(message.order))

    def _outcome_of(self, number: int) -> Done:
        def done(good: bool, text: str) -> None:
            outcome = {"type": "done", "order": number, "good": good, "text": text}
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._say, outcome)

        return done

    def _say(self, message: object) -> None:
        if len(self._outbox) < MAX_WAITING:
            self._outbox.append(json.dumps(message, allow_nan=False))
        self.wake.set()

    async def _text(self) -> str:
        message = await self._ws.receive()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code") or 1005)
        text = message.get("text")
        if not isinstance(text, str):
            raise _LeftError(BAD, "expected text, got bytes")
        return text

    async def _close(self, left: BaseException) -> None:
        if isinstance(left, _LeftError):
            with contextlib.suppress(RuntimeError, WebSocketDisconnect, OSError):
                # A reason has at most 123 bytes. A TimeoutError is an OSError.
                async with asyncio.timeout(_CLOSE_S):
                    await self._ws.close(
                        left.code, left.reason.encode()[:120].decode(errors="ignore")
                    )
