"""In which room furniture is, said by a language model from what stands near it (PARTNR-5.4).

As in the paper's form of ConceptGraphs: the model gets a piece's name and those of the ten pieces
nearest to it, and answers with a kind of room from a closed list (PARTNR-D67).
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping, Sequence
from random import Random

import shapely

from planner.memory.wording import words_of
from planner.models.caller import BlockingLoop, Caller
from planner.models.chat import Fault, Message, Reader, Reference, ReferenceReply, Speaker
from planner.models.replies.dictionary import DictionaryReply, TextKey
from planner.world.house import Furniture, House

UNKNOWN = "unknown"
LABELS = ("bedroom", "living room", "kitchen", "dining room", "hallway", "bathroom", UNKNOWN)
NEAREST = 10
KEY = "ROOM_LABEL"
# Requests that are under way at a time.
_AT_ONCE = 8
_FORM = DictionaryReply((TextKey(KEY, words=LABELS, max_characters=40),), max_tokens=32)
_SYSTEM = (
    "You know how homes are furnished. You are told of a piece of furniture in a house, by a JSON "
    "object: QUERY_OBJECT_NAME is what it is, CLOSEST_OBJECTS are the pieces that stand nearest to "
    f"it, at most {NEAREST}, the nearest first. Say in which kind of room it stands. Answer with a "
    f"JSON object that has the one key {KEY} and nothing beside it. Its value is one of: "
    f"{', '.join(LABELS)}. Say {UNKNOWN} only where none of the others fits."
)


class RoomLabels:
    """Asks once for each piece of a house; what failed for lack of an answer is asked again.

    Attributes:
        counts: of replies that are no label, and of labels of a kind of room that the house has
            none of. Both leave the room unknown.
    """

    def __init__(self, layout: House, caller: Caller, loop: BlockingLoop) -> None:
        """Nothing has been asked yet; `loop` is that in which the model is asked."""
        self._layout, self._caller, self._loop = layout, caller, loop
        self._rooms: dict[str, str | None] = {}
        self.counts = {"room labels unreadable": 0, "room labels without a room": 0}

    @property
    def rooms(self) -> Mapping[str, str | None]:
        """The room of each piece of furniture, None = unknown; asks for what is missing.

        Raises:
            ModelError: if the model does not answer; what it has answered is kept.
        """
        missing = [one for one in self._layout.furniture if one.name not in self._rooms]
        if missing:
            self._loop.run(self._ask_all(missing))
        return self._rooms

    async def _ask_all(self, pieces: Sequence[Furniture]) -> None:
        free = asyncio.Semaphore(_AT_ONCE)

        async def ask(piece: Furniture) -> None:
            async with free:
                label = await self._ask(piece)
            self._rooms[piece.name] = self._room(piece, label)

        # A server that is away, or whose way with grammars has to be found out, is asked once.
        await ask(pieces[0])
        for ended in await asyncio.gather(*map(ask, pieces[1:]), return_exceptions=True):
            if isinstance(ended, BaseException):
                raise ended

    async def _ask(self, piece: Furniture) -> str:
        """The label that the model says; unknown for a reply that is none."""
        number = self._layout.furniture.index(piece) + 1
        answer = await self._caller.ask(
            (Message(Speaker.SYSTEM, _SYSTEM), Message(Speaker.USER, self._question(piece))),
            _FORM,
            cycle=number,
            reference=self._right(piece),
        )
        said = None if answer.value is None else answer.value.text(KEY).casefold().strip()
        if said in LABELS:
            return said
        self.counts["room labels unreadable"] += 1
        return UNKNOWN

    def _question(self, piece: Furniture) -> str:
        others = sorted(
            (one for one in self._layout.furniture if one is not piece),
            key=lambda one: (math.dist(one.box.center_m, piece.box.center_m), one.name),
        )
        return json.dumps(
            {
                "QUERY_OBJECT_NAME": words_of(piece.class_name),
                "CLOSEST_OBJECTS": [words_of(one.class_name) for one in others[:NEAREST]],
            }
        )

    def _room(self, piece: Furniture, label: str) -> str | None:
        """The nearest room of the labelled kind."""
        if label == UNKNOWN:
            return None
        alike = [room for room in self._layout.rooms if words_of(room.class_name) == label]
        if not alike:
            self.counts["room labels without a room"] += 1
            return None
        at = shapely.Point(piece.x_m, piece.y_m)
        return min(alike, key=lambda room: (room.shape.distance(at), room.name)).name

    def _right(self, piece: Furniture) -> Reference:
        """What a flawless model would say: the kind of room that the layout has."""
        words = words_of(self._layout.rooms_by_name[piece.room].class_name)
        right = words if words in LABELS else UNKNOWN

        async def reply(random: Random, reader: Reader) -> ReferenceReply:
            del reader
            wrong = random.choice([label for label in LABELS if label != right])
            return ReferenceReply(_said(right), {Fault.WRONG_ENTITY: _said(wrong)})

        return Reference(f"{self._layout.name} {piece.name}", reply)


def _said(label: str) -> str:
    return json.dumps({KEY: label})
