"""The room of furniture that is named without one, as what was said before tells."""

from __future__ import annotations

from planner.language.drafts import Noun, Way, Where
from planner.language.places import is_furniture
from planner.language.pronouns import Pronouns, room_of
from planner.language.sentence import Source
from planner.language.words import Relation

# Furniture that hardly stands in another room than these.
_OF_ROOM = {
    "bed": "bedroom",
    "bedside table": "bedroom",
    "nightstand": "bedroom",
    "toilet": "bathroom",
    "bathtub": "bathroom",
    "shower": "bathroom",
}


class RoomContexts(Pronouns):
    """Knows the room that was announced, and the rooms that things were brought to."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._room: Noun | None = None

    def within(self, room: Noun | None) -> None:
        """Sets the room that an announcement names: later furniture without a room is there."""
        self._room = room

    def _into_context(self, place: Noun, things: list[Noun]) -> None:
        """Adds the room to "bring them to the kitchen and put them on the table"."""
        if not is_furniture(place) or place.holding:
            return
        if any(isinstance(w.anchor, Noun) and room_of(w.anchor) for w in place.where):
            return
        room = self._brought_to(things)
        if room is None and self._room is not None:
            own = _OF_ROOM.get(place.kind, self._room.kind)
            room = self._room if own == self._room.kind else None
        if room is not None and _OF_ROOM.get(place.kind, room.kind) == room.kind:
            place.where.append(Where(Relation.IN, room, Way.STATIC, room.start, room.end))

    def _brought_to(self, things: list[Noun]) -> Noun | None:
        """The room that things of these kinds were last brought to."""
        room: Noun | None = None
        for spoken in self._spoken:
            kinds = {thing.kind for thing in spoken.things}
            others = any(thing.other_than for thing in things)
            if things and not others and all(thing.kind in kinds for thing in things):
                room = next((r for n in spoken.targets if (r := room_of(n))), room)
        return room

    def _leave_other_room(self, place: object, things: list[Noun]) -> None:
        """Reads "bring it to the bedroom and put it on the table", not on one in another room."""
        room = self._brought_to(things)
        if room is None or not isinstance(place, Noun) or not is_furniture(place):
            return
        earlier = self._repeated(place)
        there = None if earlier is None else room_of(earlier)
        if there is not None and there.kind != room.kind:
            place.where.append(Where(Relation.IN, room, Way.STATIC, room.start, room.end))

    def _repeated(self, _noun: Noun) -> Noun | None:
        """The earlier noun that is named again; what remembers nouns overrides this."""
        return None
