"""What a request takes over from the one before: its place, its room, or its vague things."""

from __future__ import annotations

from planner.language.drafts import Act, Do, Noun, Phrase, Way, Where
from planner.language.fitness import includes
from planner.language.follow_ups import FollowUps
from planner.language.places import is_room
from planner.language.reading import AskReason
from planner.language.words import Actor, Amount, Occasion, Relation, Spot


class Shares(FollowUps):
    """Completes requests by the ones before."""

    def _share_place(self, do: Do) -> None:
        """Reads "I will bring the knives to the table, you bring the forks": there as well."""
        last = self._previous[-1] if self._sentence and self._previous else None
        if last is None or not do.taken or not last.to or do.who is last.who or do.who is None:
            return
        if last.act is Act.MOVE and all(where.anchor is Spot.ME for where in do.to):
            do.to, do.act, do.taken = list(last.to), Act.MOVE, False

    def _take_from_there(self, do: Do) -> None:
        """Reads "go to the bedroom and get my slippers": those that are there."""
        going = self._previous[-1] if self._sentence and self._previous else None
        if going is not None and self._source.word(going.start) == "come":
            # "Come to the kitchen and bring the mug": where the speaker is.
            return
        room = going.to[0].anchor if going and going.act is Act.GO and going.to else None
        things = [thing for thing in do.things if isinstance(thing, Noun) and not thing.where]
        if going is None or not isinstance(room, Noun) or not is_room(room):
            return
        if do.act in (Act.GO, Act.LEAVE, Act.NEVER) or do.who is Actor.SPEAKER:
            return
        there = do.act is Act.MAKE or (do.taken and all(w.anchor is Spot.ME for w in do.to))
        if not there or len(things) != len(do.things):
            # "Go to the kitchen and put the cup in the sink": the one there, or another.
            if do.act in (Act.MOVE, Act.MAKE):
                raise self._source.ask(AskReason.WHICH, going.start, do.end)
            return
        for thing in things:
            thing.where.append(Where(Relation.IN, room, Way.STATIC, room.start, room.end))
        for step in self.order.steps:
            step[:] = [other for other in step if other is not going]

    def _is_share(self, do: Do) -> bool:
        """Reads "I will set the table, you bring the plates": to the speaker, or to the table."""
        last = self._previous[-1] if self._previous else None
        if last is None or not do.taken or any(w.anchor is not Spot.ME for w in do.to):
            return False
        shared = do.who is Actor.ROBOT and last.who is Actor.SPEAKER
        return bool(do.to) and (shared or last.occasion is Occasion.SET_TABLE)

    def _nowhere_said(self, do: Do) -> bool:
        """Reads "bring the pot as well": to the speaker, or to where the others were brought."""
        before = [w.anchor for earlier in self._previous for w in earlier.to]
        return do.taken and bool(before) and before[-1] is not Spot.ME

    def _spell_out(self, do: Do, vague: Do) -> None:
        """Reads "Move some toys from the bed to the table. Move the ball, then the doll."""
        for step in self.order.steps:
            step[:] = [other for other in step if other is not vague]
        origins = [w for some in vague.things if isinstance(some, Noun) for w in some.where]
        for thing in do.things:
            if isinstance(thing, Noun) and not thing.where:
                thing.where = list(origins)

    def _vague_before(self, _things: list[Phrase]) -> Do | None:
        last = self._previous[-1] if self._previous else None
        if last is None or last.act is not Act.MOVE or not last.to or len(last.things) != 1:
            return None
        some = last.things[0]
        if not isinstance(some, Noun) or some.count not in (Amount.SOME, Amount.FEW):
            return None
        kinds = [thing.kind for thing in _things if isinstance(thing, Noun)]
        named = len(kinds) == len(_things) and all(includes(some.kind, kind) for kind in kinds)
        return last if named else None
