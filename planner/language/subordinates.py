"""Clauses with "before", "after", "while" and "if"."""

from __future__ import annotations

import copy
from collections.abc import Iterable

from planner.language.drafts import Act, Do, Noun, Phrase, Way, Where
from planner.language.english import AFTER, BEFORE, DONE, DONE_WORDS, IF, SEE_IT, WHILE
from planner.language.gaps import Gaps
from planner.language.lexicon import Actor, Amount, Occasion, Relation, Spot, includes
from planner.language.moving_frames import tempered
from planner.language.reading import AskReason
from planner.language.state_frames import IN_HAND, Dos
from planner.language.verbs import Form

# The parts of a list that are to be done in turn.


def at_once(part: Do) -> bool:
    """Whether a part of a list asks for more than how all of it is arranged in the end."""
    return bool(part.to) or part.act is not Act.MOVE


def in_turn(do: Do) -> list[Do]:
    """One request for each part of a list that is to be done in turn."""
    later = set(do.later)
    for k, thing in enumerate(do.things):
        if isinstance(thing, Noun) and thing.in_turn:
            later.add(k)
            # What is said of them afterwards is said of all at once.
            thing.in_turn = False
    cuts = [0, *sorted(later - {0}), len(do.things)]
    parts = [copy.copy(do) for _ in cuts[1:]]
    for part, start, end in zip(parts, cuts, cuts[1:], strict=False):
        part.things, part.to, part.arrangement = do.things[start:end], list(do.to), None
    if len(parts) < 2:
        return [do]
    if do.arrangement is not None:
        parts.append(copy.copy(do))
        parts[-1].to = []
    return parts


def tempered_before(do: Do) -> list[Do]:
    """What makes things hot or cold first: "put a chilled apple on the table"."""
    found: list[Do] = []
    for thing in do.things if do.act is Act.MOVE else ():
        if isinstance(thing, Noun) and thing.heated is not None:
            found.append(tempered([thing], do.start, do.end, hot=thing.heated))
            found[-1].who, found[-1].only_if, found[-1].unless = do.who, do.only_if, do.unless
            thing.heated = None
    return found


class Subordinates(Gaps):
    """Reads subordinate clauses."""

    def _subordinate(self, at: int) -> int:
        """Clauses with "before", "after", "while" and "if"."""
        source = self._source
        if end := source.longest(at, BEFORE):
            return self._before(end)
        if end := source.longest(at, AFTER):
            return self._later(at, end) or (
                self._condition(at, end, "only_if") if source.word(at) == "when" else 0
            )
        if source.word(at) == "having":
            return self._later(at, at)
        end = source.longest(at, WHILE)
        if end and source.word(end) in ("holding", "carrying"):
            return self._in_hand(end)
        if source.word(at) == "with" and (held := self.item(at + 1)):
            # "Turn on the lamp with the pen in your hand".
            after = source.starts(held[1], *IN_HAND)
            return after and self._in_hand(at) and after
        if end and source.starts(end, "turning on") and (lit := self.verb_phrase(end, {Form.ING})):
            # "Pick up the pen while turning on the lamp".
            self._accept(lit[0])
            return lit[1]
        if end and source.word(end) in ("i", "you") and (dos := self._temporal(end)):
            self._accept(dos[0])
            return dos[1]
        if end := source.starts(at, "until", "till"):
            waits = source.word(at - 1) == "wait"
            return self._waiting(end) if waits else self._until(at, end)
        if end := source.starts(at, "unless", "except if"):
            return self._unless_they_are(at, end) or self._condition(at, end, "unless")
        if end := source.starts(at, "otherwise", "or else", "if not"):
            return self._otherwise(end)
        if end := source.longest(at, IF):
            return self._condition(at, end, "only_if")
        return 0

    def _in_hand(self, at: int) -> int:
        """Reads "turn on the lamp while holding the box": as if it was picked up first."""
        found = self.objects(at + 1) if self._sentence else None
        if found is None or not self._no_targets(found[0]):
            return 0
        self._accept([Do(Act.MENTION, self.attach(found[0]), at, found[1], taken=True)])
        return found[1]

    def _until(self, at: int, start: int) -> int:
        """Reads "Do not start it until the cups are in it": that first, and then this."""
        last = self._previous[-1] if self._sentence and self._previous else None
        denied = last is not None and "not" in self._source.words[: last.start + 1]
        if last is None or last.act is not Act.NEVER or last.complaint or not denied:
            return 0
        if self._source.word(last.start - 1) == "never":
            return 0
        found = self._temporal(start)
        if found is None or any(do.act not in (Act.MOVE, Act.MAKE) for do in found[0]):
            return 0
        negation = max(k for k in range(last.start + 1) if self._source.word(k) == "not")
        self._ignored.update((at, negation))
        self.order.throughout.remove(last)
        last.act = Act.MAKE if last.states else Act.MOVE
        for do in found[0]:
            self._discourse.accept(do)
            self.order.add(do, then=self._then)
        self.order.add(last, then=True)
        self._then = False
        return found[1]

    def _waiting(self, start: int) -> int:
        """Reads "wait until the cups are in the sink, and turn it off": that comes first."""
        found = self._temporal(start)
        if found is None or any(do.act not in (Act.MOVE, Act.MAKE) for do in found[0]):
            return 0
        self._ignored.add(start - 1)
        for do in found[0]:
            self._discourse.accept(do)
            self.order.add(do, then=self._then or bool(self._sentence))
        if self._sentence:
            # "Turn the radio on, wait until the cups are in the dishwasher, and turn it off".
            self._discourse.forget_places()
        self._then, self._previous = True, found[0]
        self._sentence += found[0]
        return found[1]

    def _unless_they_are(self, at: int, start: int) -> int:
        """Reads "Move the books unless they are notebooks": all but these."""
        are = self._source.starts(start, "they are", "they 're")
        found = self.item(are) if are and self._sentence else None
        things = self._sentence[-1].things if found else []
        kind = found[0] if found else None
        if not isinstance(kind, Noun) or not (kind.bare and kind.plural and kind.kind):
            return 0
        if found is None or not self._ends(found[1]):
            return 0
        wholes = [t for t in things if isinstance(t, Noun) and t.count is Amount.ALL]
        if len(wholes) != len(things) or not all(includes(t.kind, kind.kind) for t in wholes):
            return 0
        for whole in wholes:
            whole.but.append(kind)
        self._ignored.add(at)
        return found[1]

    def _otherwise(self, at: int) -> int:
        """Reads "If it is dirty, wash it, otherwise put it away"."""
        last = self._previous[-1] if self._previous else None
        i = self.skip(at + (self._source.word(at) == ","))
        if last is None or not (found := self.clause(i)):
            return 0
        if not last.only_if and not last.unless:
            raise self._source.unknown(at - 1, found[1])
        for do in found[0]:
            do.only_if, do.unless = list(last.unless), list(last.only_if)
        self._conditions = []
        self._accept(found[0])
        return found[1]

    def _temporal(self, at: int) -> Dos | None:
        """What is said of the time: "clearing the couch", "you have washed it", "it is clean"."""
        found = (
            self._own_work(at)
            or self.verb_phrase(at, {Form.ING})
            or self._robot(at)
            or self._speaker(at)
            or self.statement(at, wish=True)
        )
        if found is None and self._source.word(at) == "having":
            found = self.verb_phrase(at + 1, {Form.PAST})
        for do in found[0] if found else ():
            if do.taken and any(where.anchor is Spot.ME for where in do.to):
                raise self._source.ask(AskReason.WHERE, do.start, do.end)
        return (
            found
            if found and all(do.act is not Act.MENTION or do.taken for do in found[0])
            else None
        )

    def _own_work(self, at: int) -> Dos | None:
        """Reads "(While) I put the food away"."""
        if self._source.word(at) != "i":
            return None
        return self._by(Actor.SPEAKER, self.verb_phrase(at + 1, {Form.BASE, Form.PAST}))

    def _before(self, at: int) -> int:
        """Reads "Before A, B" and "B before A"."""
        if (found := self._temporal(at)) is None:
            return 0
        dos, end = found
        for do in dos:
            self._discourse.accept(do)
        dos = [do for do in dos if do.act is not Act.GO]
        if self._sentence:
            for do in dos:
                self._in_order(self._sentence[-1], do)
                self.order.add(do, then=True)
        else:
            self._pending += dos
        return end

    def _later(self, start: int, at: int) -> int:
        """Reads "After A, B" and "B after A"."""
        source = self._source
        if i := source.longest(at, DONE):
            if source.word(i) in ("all", "both", "safely"):
                i += 1
            if source.word(i) in DONE_WORDS and not self.item(i + 1):
                if self._sentence and not self._begins(start, i + 1):
                    # "Start it when they are all in": it comes after what was said before.
                    last = self._sentence[-1]
                    self._move_to_end(last)
                else:
                    self._then = True
                return i + 1
        if end := self._laid_table(at):
            self._then = True
            return end
        if (found := self._temporal(at)) is None:
            return 0
        dos, end = found
        while (joined := self._joined(end)) and (
            more := self.verb_phrase(joined, {Form.PAST, Form.ING})
        ):
            if self.verb_phrase(joined, {Form.BASE}):
                break
            dos, end = [*dos, *more[0]], more[1]
        if not self.order.requests and not any(token.is_word for token in source.tokens[end:]):
            # "Once the cup is clean", and no more.
            return 0
        trails = self._sentence and not self._then and not self._joins(start)
        step = self.order.step_of(self._sentence[-1]) if trails else None
        for do in dos:
            self._discourse.accept(do)
            if step is not None:
                self._in_order(do, self._sentence[-1])
            if self.order.repeated(do):
                continue
            if step is None:
                self.order.add(do, then=self._then)
                self._then = False
            else:
                self._before_last(do, self._sentence[-1])
        if step is None:
            self._then = True
            self._previous = dos
        return end

    def _laid_table(self, at: int) -> int:
        """Reads "once the table is laid", where what was asked for before puts things on one."""
        end = self._source.starts(at, "the table is", "the dining table is", "the table has been")
        if not end or self._source.word(end) not in ("laid", "set"):
            return 0
        if self._source.word(end + 1) not in ("", ",", ".", "then"):
            return 0
        asked = [*self.order.requests, *self._sentence]
        laid = any(
            do.occasion is Occasion.SET_TABLE
            or any(isinstance(w.anchor, Noun) and "table" in (w.anchor.kind or "") for w in do.to)
            for do in asked
        )
        return end + 1 if laid else 0

    def _joins(self, start: int) -> bool:
        """Whether a clause begins something new: "wipe it, and when it is clean, ..."."""
        source = self._source
        return source.word(start - 1 - (source.word(start - 1) == ",")) in ("and", "but")

    def _begins(self, start: int, end: int) -> bool:
        """Whether the clause up to a position comes before another: "and when I'm done, ..."."""
        comma = self._source.word(end) == ","
        return self._joins(start) and self.clause(end + comma) is not None

    def _in_order(self, first: Do, second: Do) -> None:
        """Refuses "wash it before you fill it, and fill it before you wash it"."""
        if self.order.runs_against(first, second):
            start, end = min(first.start, second.start), max(first.end, second.end)
            raise self._source.impossible("contradiction", start, end)

    def _before_last(self, do: Do, last: Do) -> None:
        """Puts a request into a step before the last one's."""
        steps = self.order.steps
        if do.act in (Act.LEAVE, Act.NEVER, Act.MENTION):
            return
        at = self.order.step_of(last)
        others = [other for other in steps[at] if other is not last]
        steps[at : at + 1] = [step for step in ([*others], [do], [last]) if step]

    def _move_to_end(self, last: Do) -> None:
        steps = self.order.steps
        at = self.order.step_of(last)
        if len(steps[at]) > 1:
            steps[at].remove(last)
            steps.insert(at + 1, [last])

    def _come_first(self, last: Do) -> None:
        """Reads "Bring the cup, but wash it first": the last request before the others."""
        steps = self.order.steps
        at = self.order.step_of(last)
        others = [
            do for do in self._sentence if do is not last and any(do in step for step in steps)
        ]
        if not others:
            # "The plates should be on the table. Wash them first."
            others = [do for step in steps for do in step if self._together(do, last)]
        if not others or last not in steps[at]:
            return
        steps[at].remove(last)
        self.order.steps = steps = [step for step in steps if step]
        steps.insert(min(self.order.step_of(do) for do in others), [last])

    @staticmethod
    def _together(do: Do, last: Do) -> bool:
        """Whether two requests have a thing in common."""
        return do is not last and any(a is b for a in do.things for b in last.things)

    def _condition(self, at: int, start: int, word: str) -> int:
        """Reads "If the lamp is on", "if you find my keys"."""
        source = self._source
        robot = source.word(start) == "you" and self._robot(start)
        if seen := source.longest(start, SEE_IT):
            if (segments := self.objects(seen)) is None:
                return 0
            things = self.attach(segments[0])
            if any(isinstance(t, Noun) and t.bare and not t.plural for t in things):
                # "If there is room".
                return 0
            return self._conditional(
                at, Do(Act.MENTION, things, at, segments[1]), things, word, segments[1]
            )
        if robot and self._sentence and word == "only_if":
            # "I can fill it if you bring it": what you do comes first.
            dos, end = robot
            for do in dos:
                self._discourse.accept(do)
                self._before_last(do, self._sentence[-1])
            return source.starts(end, "first") or end
        found = self.objects(start)
        if (
            found is None
            or not self._no_targets(found[0])
            or source.word(found[1]) not in ("is", "are", "'s")
        ):
            return 0
        parts, i = found
        things = self.attach(parts)
        negated = source.word(i + 1) == "not"
        i += 1 + negated
        while source.word(i) in ("still", "already", "currently", "all", "both"):
            i += 1
        if (told := self._becomes(i, list(things), at)) is None or len(told[0]) != 1:
            return 0
        do, end = told[0][0], told[1]
        mention = Do(Act.MENTION, things, at, end)
        self._discourse.accept(mention)
        conditions: list[Phrase] = []
        for thing in mention.things:
            if not isinstance(thing, Noun):
                return 0
            state = copy.copy(thing)
            state.states, state.where = [*thing.states, *do.states], [*thing.where, *do.to]
            conditions.append(state)
        kind = {"only_if": "unless", "unless": "only_if"}[word] if negated else word
        return self._conditional(at, None, conditions, kind, end)

    def _conditional(
        self, at: int, mention: Do | None, things: list[Phrase], word: str, end: int
    ) -> int:
        if mention is not None:
            self._discourse.accept(mention)
            things = list(mention.things)
        source = self._source
        # "If it is clean put it away, if it is dirty wash it": what follows.
        ahead = source.word(at - 1) == "," and self.clause(end) is not None
        if self._sentence and self._conditions and (
            ahead or source.word(at - 1) in ("and", "but", "or")
        ):  # fmt: skip
            self._conditions = []
        if self._sentence and not ahead and source.word(at - 1) not in ("and", "but"):
            for do in self._sentence[-1:]:
                getattr(do, word).extend(things)
        else:
            self._conditions.append((word, things))
            self._open_condition = (at, end)
        return end

    def _accept(self, dos: Iterable[Do]) -> None:
        dos = list(dos)
        self._open_condition = None
        known = len(self._sentence)
        for do in dos:
            for word, phrases in self._conditions:
                getattr(do, word).extend(phrases)
            if self._within is not None and do.act in (Act.MOVE, Act.MAKE):
                self._place_within(self._within, do)
            if do.occasion in (Occasion.SET_TABLE, Occasion.MAKE_COFFEE, Occasion.MAKE_TEA):
                self._count_people(do)
            states = list(do.states) if do.told else []
            self._discourse.accept(do)
            self._told_states = (do, states) if states else None
            if self._before_do is None and self._reverse and self._previous:
                self._before_do = self._previous[-1]
            if self._before_do is not None:
                at = self.order.step_of(self._before_do)
                self.order.add_before(do, at, then=self._then)
                self._reverse = False
            else:
                then = self._then or do is self._force_then
                then = then and do.act not in (Act.LEAVE, Act.NEVER, Act.MENTION)
                before = tempered_before(do)
                for number, part in enumerate([*before, *in_turn(do)]):
                    later = number > 0 and (at_once(part) or bool(before))
                    self.order.add(part, then=then or later)
                    if part.heats is not None:
                        on = copy.copy(part)
                        on.act, on.things, on.to = Act.MAKE, [part.heats], []
                        on.states, on.heats = ["powered on"], None
                        self.order.add(on, then=True)
                        then = True
            if do.act not in (Act.LEAVE, Act.NEVER, Act.MENTION):
                # What was heated stays in the microwave until that has run.
                self._then = do.heats is not None
            self._sentence.append(do)
        if dos:
            self._previous = dos
            self._discourse.join(len(dos))
        if len(self._sentence) > known and dos and dos[-1].things:
            self._given = list(dos[-1].things)

    def _count_people(self, table: Do) -> None:
        """For how many a table is set, if a remark before says so: "we are four"."""
        if table.people is None and self._said_number is not None:
            number, start, end = self._said_number
            if number is None:
                raise self._source.ask(AskReason.WHICH, start, end)
            table.people = number

    def _place_within(self, tidy: Do, do: Do) -> None:
        """What is named after a colon is in the room, and is all that is to be tidied."""
        for step in self.order.steps:
            if tidy in step:
                step.remove(tidy)
        room = tidy.things[0] if tidy.things else None
        for thing in do.things:
            if isinstance(thing, Noun) and not thing.where and isinstance(room, Noun):
                thing.where.append(Where(Relation.IN, room, Way.STATIC, room.start, room.end))
