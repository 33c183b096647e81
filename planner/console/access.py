"""Who may open the page: this machine without a token, others with one."""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlsplit

from planner.console.dispatcher import OrderDispatcher
from planner.console.facts import Json, Table
from planner.console.orders import Done
from planner.console.protocol import Order, Play, Seek
from planner.console.rights import Visitor
from planner.world.errors import PlannerError

LOOPBACK, DEFAULT_PORT = "127.0.0.1", 8642
# Variable with the token, which a command line would show to all users of the machine.
TOKEN = "PLANNER_CONSOLE_TOKEN"  # noqa: S105 - the name of a variable
_LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})
_TOKEN_BYTES, _MIN_TOKEN = 18, 12


@dataclass(frozen=True, slots=True)
class Access:
    """The address and what it takes to use it.

    Attributes:
        host: address to listen on.
        port: 0 = any free one.
        control: token of pages that may give orders; "" = none is needed, on the loopback.
        view: token of pages that may only look; "" = as `control`.
        read_only: no page may give orders.
    """

    host: str = LOOPBACK
    port: int = DEFAULT_PORT
    control: str = ""
    view: str = ""
    read_only: bool = False

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback(self.host)

    def allows(self, token: str) -> bool:
        """Whether a page with this token is let in."""
        return not self.control or _same(token, self.control) or self._is_viewer(token)

    def may_order(self, token: str) -> bool:
        """Whether it may give orders."""
        return not self.read_only and (not self.control or _same(token, self.control))

    def _is_viewer(self, token: str) -> bool:
        return bool(self.view) and _same(token, self.view)

    def is_own(self, host: str, origin: str) -> bool:
        """Whether a request comes from this page and not from one of another site.

        A page of another site may open a connection to this machine, and a name of another site
        may be made to lead here: on the loopback only its names count.

        Args:
            host: header `Host`.
            origin: header `Origin`; "" = none, as of a program that is not a browser.
        """
        try:
            named = urlsplit(f"//{host}").hostname or ""
            named = f"[{named}]" if ":" in named else named
            if self.is_loopback and named not in _LOOPBACK_NAMES:
                return False
            return not origin or urlsplit(origin).netloc == host
        except ValueError:
            return False


def is_loopback(host: str) -> bool:
    """Whether an address is of this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def access_to(host: str, port: int, token: str, *, read_only: bool) -> Access:
    """The access to an address; a token is made where one is needed and none given.

    Args:
        host: address to listen on.
        port: 0 = any free one.
        token: of pages that may give orders; "" = one is made, except on the loopback.
        read_only: no page may give orders.

    Raises:
        PlannerError: if the port or the token cannot be used.
    """
    if not 0 <= port <= 65535:
        raise PlannerError(f"port: expected 0 to 65535, got {port}")
    if token and (len(token) < _MIN_TOKEN or not token.isascii() or not token.isprintable()):
        raise PlannerError(
            f"token: expected at least {_MIN_TOKEN} visible ASCII characters, got {len(token)}"
        )
    if not token and is_loopback(host):
        return Access(host, port, read_only=read_only)
    made = token or secrets.token_urlsafe(_TOKEN_BYTES)
    return Access(host, port, made, secrets.token_urlsafe(_TOKEN_BYTES), read_only)


def _same(given: str, expected: str) -> bool:
    """In a time that tells nothing about where they differ."""
    return hmac.compare_digest(given.encode(), expected.encode())


# What a connection shows: a running stack or a bag.


class Show(Protocol):
    """One page's state; used by the server's thread.

    Attributes:
        mode: `live` or `bag`.
        table: what the page shows.
    """

    mode: str
    table: Table

    @property
    def importance(self) -> int:
        """What goes first where there are too many pages, from 0; asked of pages that are open."""

    def about(self) -> dict[str, Json]:
        """Facts for the page's beginning."""

    async def order(self, order: Order, done: Done) -> None:
        """Carries out an order."""

    async def control(self, message: Seek | Play) -> None:
        """Moves in a bag."""

    def trace(self, key: str) -> dict[str, Json] | None:
        """Prompt and reply of a model call; None = not kept."""

    def want_pictures(self, on: bool) -> None:
        """The page shows pictures, or no longer does."""

    def pictures(self, since: int, *, cameras: bool) -> list[tuple[int, str, bytes]]:
        """Number, name and JPEG of the pictures that are newer than a number.

        Args:
            since: the number.
            cameras: False = only those that belong to questions.
        """

    def close(self) -> None:
        """The page has gone."""


class LiveShow:
    """A page of the running stack."""

    mode = "live"

    def __init__(self, dispatcher: OrderDispatcher, visitor: Visitor, pictures: Pictures) -> None:
        """Announces the page to the dispatcher."""
        self._dispatcher, self._visitor, self._pictures = dispatcher, visitor, pictures
        self.table = dispatcher.view.table
        dispatcher.visitor_joined(visitor)

    @property
    def importance(self) -> int:
        """As the dispatcher says."""
        return self._dispatcher.importance(self._visitor)

    def about(self) -> dict[str, Json]:
        """No more than what is in the table."""
        return {"mine": self._visitor.session[:6], "may_order": self._visitor.may_order}

    async def order(self, order: Order, done: Done) -> None:
        """Passes it to the dispatcher."""
        self._dispatcher.dispatch(self._visitor, order, done)

    async def control(self, message: Seek | Play) -> None:
        """Time cannot be moved here."""
        _ = message

    def trace(self, key: str) -> dict[str, Json] | None:
        """As in the view."""
        return self._dispatcher.view.trace(key)

    def want_pictures(self, on: bool) -> None:
        """Tells the dispatcher."""
        self._dispatcher.pictures_wanted(self._visitor, on=on)

    def pictures(self, since: int, *, cameras: bool) -> list[tuple[int, str, bytes]]:
        """The newest of each agent."""
        return self._pictures.newer(since, cameras=cameras)

    def close(self) -> None:
        """Tells the dispatcher."""
        self._dispatcher.visitor_left(self._visitor)


class Pictures:
    """The newest picture of each agent's camera and question; one thread puts, another reads."""

    def __init__(self) -> None:
        self._number = 0
        # By agent; of cameras and of questions.
        self._newest: dict[str, tuple[int, str, bytes]] = {}
        self._asked: dict[str, tuple[int, str, bytes]] = {}

    def put(self, agent: str, jpeg: bytes) -> None:
        """A new picture of an agent's camera."""
        self._number += 1
        self._newest[agent] = (self._number, agent, jpeg)

    def put_asked(self, agent: str, name: str, jpeg: bytes) -> None:
        """The picture of an agent's question, by the name that the question has for it."""
        self._number += 1
        self._asked[agent] = (self._number, name, jpeg)

    def newer(self, since: int, *, cameras: bool = True) -> list[tuple[int, str, bytes]]:
        """Those with a greater number, the oldest first; without cameras only of questions."""
        found = [*self._asked.values(), *(self._newest.values() if cameras else ())]
        return sorted(item for item in found if item[0] > since)
