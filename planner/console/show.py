"""What a connection shows: a running stack or a bag."""

from __future__ import annotations

from typing import Protocol

from planner.console.dispatcher import OrderDispatcher
from planner.console.facts import Json, Table
from planner.console.orders import Done
from planner.console.protocol import Order, Play, Seek
from planner.console.rights import Visitor


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
        ...

    def about(self) -> dict[str, Json]:
        """Facts for the page's beginning."""
        ...

    async def order(self, order: Order, done: Done) -> None:
        """Carries out an order."""
        ...

    async def control(self, message: Seek | Play) -> None:
        """Moves in a bag."""
        ...

    def trace(self, key: str) -> dict[str, Json] | None:
        """Prompt and reply of a model call; None = not kept."""
        ...

    def want_pictures(self, on: bool) -> None:
        """The page shows pictures, or no longer does."""
        ...

    def pictures(self, since: int, *, cameras: bool) -> list[tuple[int, str, bytes]]:
        """Number, name and JPEG of the pictures that are newer than a number.

        Args:
            since: the number.
            cameras: False = only those that belong to questions.
        """
        ...

    def close(self) -> None:
        """The page has gone."""
        ...


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
        """None yet."""
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
