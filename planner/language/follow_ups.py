"""What a sentence takes over from the one before: its question, its place, its things."""

from __future__ import annotations

import copy

from planner.language.circumstances import Announcements
from planner.language.drafts import Act, Do, Noun, Phrase, Way, Where
from planner.language.english import FILLERS, TO_DO, combined, phrases, products, table
from planner.language.lexicon import Actor, Amount, Occasion, Relation, Spot, includes
from planner.language.modifiers import EXCEPT, opposite
from planner.language.places import belongs, grouped, is_furniture, is_room
from planner.language.reading import STOPS, AskReason
from planner.language.state_frames import Dos

_CHECK = products("check|see|find out|look|double check|tell me|verify", "if|whether")
_IF_SO, _IF_NOT = phrases(table("if so")), phrases(table("if not"))
_SEE_TO_IT = combined("see to it")
_WITHOUT_PLEA = frozenset({"please", "now", "thanks", "then", "today", "quickly"})


class FollowUps(Announcements):
    """Reads clauses that depend on what was just asked or told."""

    def _question(self, at: int) -> int:
        """Reads "Is the oven on? If so, switch it off", "check whether it is, and if not ..."."""
        source = self._source
        if self._sentence:
            return 0
        i = source.longest(at, TO_DO) or at
        i = source.longest(i, _CHECK)
        asks = not i and source.word(at) in ("is", "are")
        found = self.objects(i or at + 1, subject=True) if i or asks else None
        if found is None or not self._no_targets(found[0]):
            return 0
        parts, i = found
        if not asks and source.word(i) not in ("is", "are", "'s"):
            return 0
        there = parts[-1].wheres
        if asks and there and source.word(i) == "?":
            # "Is my jacket in the wardrobe?"
            parts[-1].wheres = []
            things = self.attach(parts)
            told: Dos | None = ([Do(Act.MOVE, things, at, i, grouped(there, unsure=True))], i)
        else:
            things = self.attach(parts)
            i += not asks
            while source.word(i) in ("still", "already", "currently", "all", "both"):
                i += 1
            told = self._becomes(i, list(things), at)
        if told is None or len(told[0]) != 1 or told[0][0].act not in (Act.MAKE, Act.MOVE):
            return 0
        end = told[1]
        while source.word(end) in ("?", ",", ".", "please") or source.starts(end, "and ,"):
            end += 1
        so, otherwise = source.longest(end, _IF_SO), source.longest(end, _IF_NOT)
        if not (so or otherwise):
            return self._asked_about(at, things, told[1]) if asks else 0
        mention = Do(Act.MENTION, things, at, told[1])
        self._discourse.accept(mention)
        conditions: list[Phrase] = []
        for thing in mention.things:
            if not isinstance(thing, Noun):
                return 0
            state = copy.copy(thing)
            state.states, state.where = [*thing.states, *told[0][0].states], list(thing.where)
            state.where += told[0][0].to
            conditions.append(state)
        self._conditions.append(("unless" if otherwise else "only_if", conditions))
        self._open_condition = (at, end)
        return max(so, otherwise)

    def _asked_about(self, at: int, things: list[Phrase], end: int) -> int:
        """Reads "Is the microwave still open? Close it": only what "it" is."""
        source = self._source
        if source.word(end) != "?" or not self._next_says(end + 1, {"it", "them", "that"}):
            return 0
        self._discourse.accept(Do(Act.MENTION, things, at, end))
        return end

    def _next_says(self, at: int, pronouns: set[str]) -> bool:
        end = at
        while end < self._source.size and self._source.word(end) not in STOPS:
            end += 1
        return bool(pronouns & set(self._source.words[at:end]))

    def _see_to_it(self, at: int) -> Dos | None:
        """Reads "The lamp is still on, could you see to it?": the opposite of what was told."""
        told = self._told_states
        start = self.skip(at)
        end = self._source.longest(start, _SEE_TO_IT)
        if not end and (i := self._source.longest(start, TO_DO)):
            end = self._source.longest(self.skip(i), _SEE_TO_IT)
        if told is None or not end:
            return None
        ahead = self._source.word(end)
        if ahead.isalnum() and ahead not in _WITHOUT_PLEA and not self._source.longest(
            end, FILLERS
        ):  # fmt: skip
            return None
        before, states = told
        things = before.things
        wanted = [opposite(state) for state in states]
        if not wanted or not all(wanted):
            return None
        for thing in things:
            if isinstance(thing, Noun):
                thing.states = [state for state in thing.states if state not in states]
        self._told_states = None
        # "Has not been watered": what is to be done says so.
        self._ignored.update(range(before.start, before.end))
        return self._make(list(things), wanted, at, end)

    def _fronted(self, at: int) -> Dos | None:
        """Reads "On the desk, put the tablet next to the lamp", "in the hall, dust the shelf"."""
        source = self._source
        if self._sentence or source.longest(at, FILLERS):
            return None
        wheres, end = self.places(at)
        if len(wheres) > 1 and source.starts(wheres[-1].start, "there is", "there are"):
            end = wheres.pop().start
        named = [w for w in wheres if isinstance(w.anchor, Noun)]
        if not wheres or len(named) != len(wheres) or any(w.way is Way.TO for w in wheres):
            return None
        if is_where := source.starts(end, "is where i want", "is where you put", "is where i need"):
            return self._is_where(wheres, at, is_where)
        i = end + (source.word(end) == ",")
        self._fronting = True
        found = self.clause(i)
        self._fronting = False
        if found is None or len(found[0]) != 1:
            return None
        do, end = found[0][0], found[1]
        if len(wheres) == 2 and belongs(*wheres) and isinstance(wheres[0].anchor, Noun):
            wheres[0].anchor.where.append(wheres.pop())
        if len(wheres) != 1 or do.act not in (Act.MOVE, Act.MAKE, Act.MENTION):
            return None
        return ([do], end) if self._put_there(do, wheres[0]) else None

    def _fronted_exception(self, at: int) -> Dos | None:
        """Reads "Apart from the knives, all the cutlery goes in the dishwasher"."""
        source = self._source
        start = source.longest(at, EXCEPT)
        left_out = self.item(start) if start and not self._sentence else None
        if left_out is None or source.word(left_out[1]) != ",":
            return None
        found, but = self.clause(left_out[1] + 1), left_out[0]
        wholes = found[0][0].things if found is not None and len(found[0]) == 1 else []
        for whole in wholes:
            if not isinstance(whole, Noun) or not isinstance(but, Noun):
                return None
            if whole.count is not Amount.ALL or not _part_of(but, whole):
                return None
            but.kind = but.kind or whole.kind
            whole.but.append(but)
        return found if wholes else None

    def _is_where(self, wheres: list[Where], at: int, i: int) -> Dos | None:
        if (things := self.objects(i)) is None or any(part.wheres for part in things[0]):
            return None
        return [Do(Act.MOVE, self.attach(things[0]), at, things[1], wheres)], things[1]

    def _put_there(self, do: Do, where: Where) -> bool:
        """Adds a place that stands before a command to what it can be said of."""
        place = where.anchor
        if not isinstance(place, Noun):
            return False
        nouns = [thing for thing in do.things if isinstance(thing, Noun)]
        if do.act is Act.MENTION and not do.taken:
            # "In the study, there is a book on the desk".
            inner = [w.anchor for noun in nouns for w in noun.where if isinstance(w.anchor, Noun)]
            for noun in inner if is_room(place) and inner else nouns:
                noun.where.append(where)
            return True
        if where.way is Way.FROM or do.act is Act.MAKE or any(w.anchor is Spot.ME for w in do.to):
            if len(nouns) != len(do.things) or any(noun.where for noun in nouns):
                return False
            for noun in nouns:
                noun.where.append(where)
            return True
        if not do.to and do.taken:
            do.act, do.to, do.taken = Act.MOVE, [where], False
            return True
        targets = [w.anchor for w in do.to if isinstance(w.anchor, Noun)]
        if do.act is not Act.MOVE or len(targets) != len(do.to):
            return False
        if is_room(place) and all(map(is_furniture, targets)):
            for target in targets:
                target.where.append(where)
            return True
        if any(w.relation in (Relation.IN, Relation.ON_TOP, Relation.AT) for w in do.to):
            raise self._source.ask(AskReason.WHICH, where.start, where.end)
        do.to = [where, *do.to]
        return True


def _part_of(noun: Noun, whole: Noun) -> bool:
    return not noun.kind or noun.kind == whole.kind or includes(whole.kind, noun.kind)


# What a request takes over from the one before: its place, its room, or its vague things.


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
        if going is None or not isinstance(room, Noun):
            return
        # "Go to the shelf, find a book and bring it to me": one that is there.
        with_people = do.act in (Act.MEET, Act.FOLLOW, Act.GUIDE)
        if not is_room(room) and not (is_furniture(room) and (do.act is Act.FIND or with_people)):
            return
        if do.act in (Act.GO, Act.LEAVE, Act.NEVER) or do.who is Actor.SPEAKER:
            return
        there = (
            do.act is Act.MAKE
            or with_people
            or (do.taken and all(w.anchor is Spot.ME for w in do.to))
        )
        if not there or len(things) != len(do.things):
            # "Go to the kitchen and put the cup in the sink": the one there, or another.
            if do.act in (Act.MOVE, Act.MAKE):
                raise self._source.ask(AskReason.WHICH, going.start, do.end)
            return
        for thing in things:
            relation = Relation.IN if is_room(room) else Relation.AT
            thing.where.append(Where(relation, room, Way.STATIC, room.start, room.end))
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
        moved = (earlier for earlier in self._previous if earlier.act is not Act.GO)
        before = [w.anchor for earlier in moved for w in earlier.to]
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
