"""The order of requests: as words say, and as one depends on another."""

from __future__ import annotations

from collections.abc import Iterator

from planner.language.drafts import WITH_PEOPLE, Act, Do, Noun, Phrase, Way, Where, says_again
from planner.language.english import SHALL_BE
from planner.language.lexicon import Actor, Amount, Bound, Relation, Spot, includes
from planner.language.modifiers import opposite
from planner.language.places import BY_SIDE, is_furniture, is_room
from planner.language.reading import AskReason, Source
from planner.language.verbs import Frame, verbs_at

# Whether two requests, things or places of an instruction are the same, or exclude each other.

_HELD = ("holding", "carrying", "with")
_PLACED = (Relation.ON_TOP, Relation.IN, Relation.AT)


def is_one_of(thing: Phrase, group: Phrase) -> bool:
    """Whether one is picked of several: "wash both bowls, put the bigger one in the cupboard"."""
    if isinstance(thing, Noun) and thing.part_of is not None and thing.part_of is group:
        return True
    return (
        isinstance(thing, Noun) and isinstance(group, Noun) and thing.definite
        and (group.count is Amount.ALL or group.plural)
        and thing.kind == group.kind and not thing.where
        and bool(thing.pick or thing.size or thing.color or thing.material)
    )  # fmt: skip


def apart(one: Do, other: Do) -> bool:
    """Whether two moves have the same things at places of which each excludes the other."""
    if not (one.act is other.act is Act.MOVE) or len(one.to) != 1 or len(other.to) != 1:
        return False
    first, second = one.to[0].anchor, other.to[0].anchor
    if not isinstance(first, Noun) or not isinstance(second, Noun) or first.kind == second.kind:
        return False
    alike = (is_room(first) and is_room(second)) or (is_furniture(first) and is_furniture(second))
    placed = all(to.relation in _PLACED for to in (one.to[0], other.to[0]))
    return alike and placed and any(same(a, b) for a in one.things for b in other.things)


def same(one: Phrase, other: Phrase) -> bool:
    """Whether two resolved phrases are about the same things."""
    if one is other:
        return True
    if not isinstance(one, Noun) or not isinstance(other, Noun):
        return False
    known = (one.definite or one.count is Amount.ALL) and (
        other.definite or other.count is Amount.ALL
    )
    return known and one.kind == other.kind and one.signature == other.signature


def repeats(do: Do, earlier: Do) -> bool:
    """Whether a request is said twice: "the cans go in the bin, all of them"."""
    shared = (do.who is Actor.SPEAKER) is (earlier.who is Actor.SPEAKER)
    return (
        do.act is earlier.act and do.act in (Act.MOVE, Act.MAKE) and do.states == earlier.states
        and do.arrangement is earlier.arrangement and shared
        and len(do.things) <= len(earlier.things) and len(do.to) == len(earlier.to)
        and all(any(same(a, b) for b in earlier.things) for a in do.things)
        and all(same_place(a, b) for a, b in zip(do.to, earlier.to, strict=True))
    )  # fmt: skip


def undoes(do: Do, other: Do) -> bool:
    """Whether a request brings things away from where, or out of the state, another gives them."""
    if do.act is not other.act or not any(same(a, b) for a in do.things for b in other.things):
        return False
    if do.act is Act.MAKE:
        return bool(set(map(opposite, do.states)) & set(other.states))
    return not all(same_place(a, b) for a, b in zip(do.to, other.to, strict=False))


def same_place(one: Where, other: Where) -> bool:
    """Whether two places have the same relation to the same anchor."""
    if isinstance(one.anchor, Noun) and isinstance(other.anchor, Noun):
        return one.relation is other.relation and same(one.anchor, other.anchor)
    return one.anchor is other.anchor


def at_one_place(one: list[Where], other: list[Where]) -> bool:
    """Whether things go to one thing, or to what is the same by its description."""
    if len(one) != 1 or len(other) != 1:
        return False
    first, second = one[0].anchor, other[0].anchor
    return isinstance(first, Noun) and isinstance(second, Noun) and same(first, second)


def refines(do: Do, earlier: Do) -> bool:
    """Whether some things go to furniture in the room that all were brought to."""
    rooms = [w.anchor for w in earlier.to if isinstance(w.anchor, Noun) and is_room(w.anchor)]
    inside = [
        w.anchor
        for to in do.to
        if isinstance(to.anchor, Noun)
        for w in to.anchor.where
        if isinstance(w.anchor, Noun)
    ]
    return bool(rooms) and any(same(a, b) for a in inside for b in rooms)


def only_beside(do: Do) -> bool:
    """Whether a request only says beside what things shall be."""
    return bool(do.to) and all(where.relation in BY_SIDE for where in do.to)


def taken_from(thing: Phrase) -> bool:
    """Whether a thing is described by where it is taken from."""
    where = thing.where if isinstance(thing, Noun) else []
    return any(w.way is Way.FROM for w in where)


def anchors(do: Do) -> Iterator[Phrase]:
    """What a request puts things on, into or beside."""
    for where in do.to:
        if isinstance(where.anchor, Noun):
            yield where.anchor


class Order:
    """Requests in steps. What only introduces things is dropped."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.steps: list[list[Do]] = [[]]
        self.throughout: list[Do] = []
        self.mentions: list[Do] = []
        self.reasons: list[Do] = []
        self._early: list[Do] = []

    @property
    def requests(self) -> list[Do]:
        """All requests of the steps."""
        return [do for step in self.steps for do in step]

    def add(self, do: Do, *, then: bool) -> None:
        """Adds a request to the last step, or a later one if it must be later."""
        if do.act is Act.MAKE and self._protects(do):
            do.act, do.states = Act.NEVER, [opposite(state) for state in do.states]
        if do.act is Act.LEAVE and self._stays_there(do):
            return
        if do.act in (Act.LEAVE, Act.NEVER):
            self.throughout.append(do)
            return
        if do.act is Act.MENTION:
            self.mentions.append(do)
            return
        self._answers_complaint(do)
        then = self._drop_taken(do) or then or self._with_people(do)
        if do.act is Act.MOVE and not do.to and self._merged(do):
            return
        if not then and self._goes_on(do):
            return
        if self.repeated(do) or self._wished(do):
            return
        self._drop_limit(do)
        if not then:
            self._presume(do)
        depends = any(_depends(do, earlier) for earlier in self.steps[-1])
        if depends and not then:
            self._check(do)
        if (then or depends) and self.steps[-1]:
            self.steps.append([])
        else:
            self._except(do)
        self.steps[-1].append(do)

    def _with_people(self, do: Do) -> bool:
        """Whether people are met, told, followed or guided in the order in which it is said.

        So are places gone to: nobody is at two of them.
        """
        went = do.act is Act.GO and any(item.act is Act.GO for item in self.steps[-1])
        return went or any(item.act in WITH_PEOPLE for item in (do, *self.steps[-1]))

    def _presume(self, do: Do) -> None:
        """Reads "my pills should be in the cabinet; fetch them": says where they are."""
        for step in self.steps:
            for earlier in list(step):
                if not earlier.presumed or do.presumed or do.act is not Act.MOVE:
                    continue
                fetched = bool(do.to) and all(w.anchor in (Spot.ME, Spot.HERE) for w in do.to)
                if not (fetched or apart(earlier, do)):
                    continue
                if not all(any(a is b for b in do.things) for a in earlier.things):
                    continue
                step.remove(earlier)
                for thing in earlier.things:
                    if isinstance(thing, Noun):
                        thing.where = [*thing.where, *earlier.to]
        self.steps = [step for step in self.steps if step] or [[]]

    def _drop_limit(self, do: Do) -> None:
        """Reads "no more than two bottles should be in the fridge, so put two in there"."""
        for step in self.steps:
            step[:] = [
                earlier for earlier in step
                if not (earlier.act is do.act is Act.MOVE and at_one_place(earlier.to, do.to)
                        and len(earlier.things) == len(do.things) == 1
                        and _within_limit(do.things[0], earlier.things[0]))
            ]  # fmt: skip
        self.steps = [step for step in self.steps if step] or [[]]

    def _answers_complaint(self, do: Do) -> None:
        """Reads "the iron should not be on the bed, take it to the hall": it only says where it is.

        That it must not be where it is would otherwise be a rule that is broken already.
        """
        guard = self.throughout[-1] if self.throughout else None
        if (
            guard is None
            or guard.act is not Act.NEVER
            or not guard.complaint
            or do.act is not Act.MOVE
        ):
            return
        if not do.to or not all(any(same(a, b) for b in do.things) for a in guard.things):
            return
        self.throughout.remove(guard)
        self.reasons.append(guard)
        for thing in guard.things:
            for where in guard.to:
                if isinstance(thing, Noun) and isinstance(where.anchor, Noun):
                    thing.where = [*thing.where, where]

    def runs_against(self, first: Do, second: Do) -> bool:
        """Whether what must come first is already after what must come second."""
        undone = any(undoes(do, other) for do in self.requests for other in (first, second))
        firsts = self._steps_like(first)
        return not undone and any(k < j for k in self._steps_like(second) for j in firsts)

    def _steps_like(self, do: Do) -> list[int]:
        return [
            k for k, step in enumerate(self.steps)
            if any(other is not do and repeats(do, other) for other in step)
        ]  # fmt: skip

    def _except(self, do: Do) -> None:
        """Reads "all lamps should be off, but the one on the desk on": all but that one."""
        for earlier in self.steps[-1]:
            opposed = do.act is Act.MAKE and set(map(opposite, do.states)) & set(earlier.states)
            elsewhere = do.act is Act.MOVE and do.to and earlier.to and not (
                only_beside(do) or only_beside(earlier) or refines(do, earlier)
            )  # fmt: skip
            if earlier.act is do.act and (opposed or elsewhere):
                _spare(earlier, do, opposed=True)

    def _stays_there(self, do: Do) -> bool:
        """Reads "put the cup on the table and leave it there"."""
        moved = [t for d in self.requests if d.act is Act.MOVE for t in d.things]
        return self._source.word(do.end - 1) == "there" and all(
            any(same(thing, other) for other in moved) for thing in do.things
        )

    def repeated(self, do: Do) -> bool:
        """Whether the latest request about the same things is the same one."""
        for earlier in reversed(self.requests):
            if any(same(a, b) for a in earlier.things for b in do.things):
                went = any(o.act is Act.GO and o.start > earlier.start for o in self.requests)
                if repeats(do, earlier) and went:
                    # "Switch on the light. Go to the hall. Switch on the light".
                    raise self._source.ask(AskReason.WHICH, do.start, do.end)
                return repeats(do, earlier)
        return False

    def _wished(self, do: Do) -> bool:
        """Reads "I would like a pear. Bring me a pear", "... , please bring me a pear": one."""
        return any(
            says_again(do, earlier)
            and (
                self._source.word(do.start - 1) == "please"
                or any(self._source.longest(said.start, SHALL_BE) for said in (do, earlier))
            )
            for earlier in self.steps[-1]
        )

    def add_before(self, do: Do, step: int, *, then: bool = False) -> None:
        """Adds a request before a step that there is already; `then` after others added so."""
        if do.act in (Act.LEAVE, Act.NEVER, Act.MENTION):
            self.add(do, then=False)
            return
        self._drop_taken(do)
        before = self.steps[step - 1] if 0 < step <= len(self.steps) else []
        early = bool(before) and all(any(d is e for e in self._early) for d in before)
        self._early.append(do)
        if early and not then and not any(_depends(do, earlier) for earlier in before):
            before.append(do)
        else:
            self.steps.insert(min(step, len(self.steps) - 1), [do])

    def step_of(self, do: Do) -> int:
        """The step of a request."""
        return next((k for k, step in enumerate(self.steps) if do in step), len(self.steps) - 1)

    def _drop_taken(self, do: Do) -> bool:
        """Drops what putting it somewhere includes: "take the cup". Whether a last step went."""
        several = len(self.steps) > 1
        for step in self.steps:
            for guess in [earlier for earlier in step if earlier.guess]:
                if any(thing is other for thing in guess.things for other in do.things):
                    step.remove(guess)
                    for thing in guess.things:
                        if isinstance(thing, Noun):
                            thing.definite, thing.where = True, [*thing.where, *guess.to]
            step[:] = [
                earlier for earlier in step if not self._included(earlier, do)
            ]  # fmt: skip
        self.mentions = [
            m for m in self.mentions if not any(same(t, u) for t in m.things for u in do.things)
            or m.who is not None
        ]  # fmt: skip
        for mention in self.mentions:
            if mention.who and any(same(t, u) for t in mention.things for u in do.things):
                do.who = do.who or mention.who
                mention.taken = False
        gone = several and not self.steps[-1]
        self.steps = [step for step in self.steps if step] or [[]]
        return gone

    def _included(self, earlier: Do, do: Do) -> bool:
        if earlier.cleared:
            # "Clear everything off the table and carry it to the garage".
            gone = do.act is Act.MOVE and any(w.anchor is not Spot.ELSEWHERE for w in do.to)
            return gone and _alike(earlier.things, do.things)
        if do.stated and earlier.to and all(w.anchor is Spot.USUAL for w in earlier.to):
            # "Put the book away, it goes on the shelf": that says where.
            said = bool(do.to) and all(w.anchor is not Spot.USUAL for w in do.to)
            return earlier.act is Act.MOVE and said and _alike(earlier.things, do.things)
        brought = do.act is Act.MOVE or self._source.word(earlier.start) != "bring"
        if any(where.anchor is Spot.BACK for where in do.to):
            # What is put back has been away.
            return False
        about: list[Phrase] = [*do.things, *do.tools]
        taking = earlier.act is not Act.MAKE and _leads_nowhere(earlier)
        if self._source.word(earlier.start) != "bring" and taking:
            into = list(anchors(do))
            if any(t in into and taken_from(t) for t in earlier.things):
                # "Get the suitcase down from the wardrobe and put the shirts in it".
                raise self._source.ask(AskReason.WHERE, earlier.start, earlier.end)
            about += into
        # "Bring me a pear and put it on the table": there at last.
        fetched = (
            earlier.act is do.act is Act.MOVE and bool(do.to) and do.who is None
            and any(where.anchor is Spot.ME for where in earlier.to)
        )  # fmt: skip
        taken = fetched or (earlier.taken and brought)
        return taken and any(same(t, u) for t in earlier.things for u in about)

    def _merged(self, do: Do) -> bool:
        """Reads "... and keep them together": the arrangement of the earlier move."""
        for earlier in reversed(self.steps[-1]):
            if (
                earlier.act is Act.MOVE
                and len(earlier.things) == len(do.things)
                and all(same(a, b) for a, b in zip(earlier.things, do.things, strict=True))
            ):
                earlier.arrangement = do.arrangement
                return True
        return False

    def _goes_on(self, do: Do) -> bool:
        """Reads "bring them to the kitchen and put them on the table": one move to the latter."""
        earlier = self.steps[-1][-1] if self.steps[-1] else None
        if earlier is None or earlier.act is not Act.MOVE or do.act is not Act.MOVE:
            return False
        alike = len(earlier.things) == len(do.things) and all(
            same(a, b) for a, b in zip(earlier.things, do.things, strict=True)
        )
        if not alike or earlier.who is not do.who:
            return False
        if only_beside(do) and earlier.to and not only_beside(earlier) and not earlier.tempers:
            earlier.to = [*earlier.to, *do.to]
            return True
        if at_one_place(earlier.to, do.to):
            earlier.to, earlier.arrangement = do.to, do.arrangement or earlier.arrangement
            return True
        rooms = [w.anchor for w in earlier.to if isinstance(w.anchor, Noun) and is_room(w.anchor)]
        inside = [w.anchor for to in do.to if isinstance(to.anchor, Noun) for w in to.anchor.where]
        if (
            len(rooms) != 1 or len(earlier.to) != 1
            or not any(isinstance(room, Noun) and same(room, rooms[0]) for room in inside)
        ):  # fmt: skip
            return False
        earlier.to, earlier.arrangement = do.to, do.arrangement or earlier.arrangement
        earlier.only_if += do.only_if
        earlier.unless += do.unless
        return True

    def _protects(self, do: Do) -> bool:
        """Whether things are left as they are: "all lamps off, but leave the desk lamp on"."""
        return self._source.word(do.start) in ("keep", "leave") and any(
            set(map(opposite, do.states)) == set(earlier.states)
            and any(
                isinstance(a, Noun) and isinstance(b, Noun)
                and a.count is Amount.ALL and _includes(a, b) and not same(a, b)
                for a in earlier.things for b in do.things
            )
            for earlier in self.requests if earlier.act is Act.MAKE
        )  # fmt: skip

    def _check(self, do: Do) -> None:
        """Refuses two opposite states or two places of one thing without an order."""
        for earlier in self.steps[-1]:
            kept_there = self._source.word(do.start) in ("keep", "leave")
            stated = do.stated and earlier.stated
            if (kept_there or stated) and apart(earlier, do):
                # "Put the cup in the sink and leave it on the table".
                raise self._source.impossible("contradiction", earlier.start, do.end)
            kept = {self._source.word(do.start), self._source.word(earlier.start)}
            if (
                kept & {"keep", "leave"}
                and any(same(a, b) for a in do.things for b in earlier.things)
                and any(opposite(state) in earlier.states for state in do.states)
            ):
                raise self._source.impossible("contradiction", earlier.start, do.end)

    def finish(self) -> None:
        """Exceptions for what is protected, and agents only where two share the work.

        What is only picked up at last is in the hand then.
        """
        self._grasp()
        for guard in self.throughout:
            if guard.act is Act.LEAVE or guard.states:
                for do in self.requests:
                    _spare(do, guard)
        everyone = [*self.requests, *self.throughout]
        if not any(do.who is Actor.SPEAKER for do in everyone):
            for do in everyone:
                do.who = None
        self.steps = [step for step in self.steps if step]

    def _grasp(self) -> None:
        """Reads "pick up the cup" as a request, where nothing follows but ways to go."""
        taken = [mention for mention in self.mentions if mention.taken]
        taken += [do for do in self.requests if _takes_away(do)]
        if len(taken) != 1 or not self._picked(taken[0]) or self.throughout or taken[0].who:
            return
        last = taken[0]
        later = [do for do in self.requests if do.start > last.start]
        if any(do.act is not Act.GO and not _switches(do) for do in later):
            return
        self.mentions = [mention for mention in self.mentions if mention is not last]
        held = self._source.word(last.start) in _HELD
        later += [do for do in self.requests[-1:] if held and do.act is Act.GO and do not in later]
        later.append(last)
        last.act, last.to, last.taken = Act.GRASP, [], False
        self.steps = [[do for do in step if do not in later] for step in self.steps]
        ways = [do for do in later if do.act is Act.GO]
        self.steps += [[do for do in later if do not in ways], *([way] for way in ways)]

    def _picked(self, do: Do) -> bool:
        """Whether one thing is taken into the hand; "take out the trash" goes on."""
        if len(do.things) != 1:
            return False
        thing = do.things[0]
        verbs = [found.verb for found in verbs_at(self._source.words, do.start)]
        carried = "while" in (self._source.word(do.end), self._source.word(do.end - 1))
        picks = (
            carried
            or self._source.word(do.start) in _HELD
            or any(v.frame is Frame.PICK or v.base == "take" for v in verbs)
        )
        gathers = any(v.base.startswith(("collect", "gather", "round")) for v in verbs)
        out = "out" in self._source.words[do.start : do.end]
        inside = taken_from(thing) or any(
            same(thing, other) for earlier in self.requests for other in earlier.things
        )
        return (
            picks and not gathers and (inside or not out)
            and isinstance(thing, Noun) and not thing.plural and thing.count == 1
            and not is_room(thing) and not is_furniture(thing)
        )  # fmt: skip


def _takes_away(do: Do) -> bool:
    """Reads "take a pear from the sink": to wherever else."""
    away = bool(do.to) and all(where.anchor is Spot.ELSEWHERE for where in do.to)
    return do.act is Act.MOVE and away and do.taken and all(map(taken_from, do.things))


def _switches(do: Do) -> bool:
    """Whether a request can as well be done before something is in the hand."""
    return do.act is Act.MAKE and {*do.states} <= {"powered on", "powered off"}


def _exclusive(do: Do, earlier: Do) -> bool:
    """Whether only one of two is done: "if it is clean ..., if it is dirty ..."."""
    return any(
        isinstance(a, Noun) and isinstance(b, Noun) and a.kind == b.kind
        and not set(map(opposite, a.states)).isdisjoint(b.states)
        for a in do.only_if for b in earlier.only_if
    )  # fmt: skip


def _within_limit(thing: Phrase, limit: Phrase) -> bool:
    """Whether a number is one that "at most" allows."""
    if not isinstance(thing, Noun) or not isinstance(limit, Noun) or thing.kind != limit.kind:
        return False
    counts = isinstance(thing.count, int) and isinstance(limit.count, int)
    return counts and limit.bound is Bound.AT_MOST and thing.bound is Bound.EXACTLY and (
        thing.count <= limit.count  # type: ignore[operator]
    )  # fmt: skip


def _alike(things: list[Phrase], others: list[Phrase]) -> bool:
    """Whether two requests are about exactly the same things."""
    return len(things) == len(others) and all(
        same(a, b) for a, b in zip(things, others, strict=True)
    )


def _leads_nowhere(do: Do) -> bool:
    """Whether no place was named for what is taken: "get a bowl"."""
    return do.act is not Act.MOVE or all(where.anchor is Spot.ME for where in do.to)


def _depends(do: Do, earlier: Do) -> bool:
    """Whether a request changes what an earlier one is about, or uses what that changed."""
    if do.act in (Act.FIND, Act.GO, Act.PREPARE) or earlier.act in (Act.FIND, Act.GO, Act.PREPARE):
        return False
    if do.unless + do.only_if and (do.unless, do.only_if) == (earlier.only_if, earlier.unless):
        return False
    if _exclusive(do, earlier):
        return False
    moved = any(same(thing, other) for thing in do.things for other in earlier.things)
    if moved and earlier.act is do.act is Act.MOVE:
        # "Put them on the table, the cup next to the plate": both hold at once.
        beside = not do.to or (only_beside(do) and not only_beside(earlier))
        if (beside and not earlier.tempers) or refines(do, earlier):
            return False
    about = [*earlier.things, *anchors(earlier)]
    if any(where.anchor is Spot.ELSEWHERE for where in earlier.to):
        about += [
            w.anchor
            for t in earlier.things
            if isinstance(t, Noun)
            for w in t.where
            if isinstance(w.anchor, Noun)
        ]
    if earlier.act is Act.MAKE and any(
        is_one_of(thing, group) for thing in do.things for group in earlier.things
    ):
        return True
    if any(same(thing, other) for thing in do.things for other in about):
        return True
    if any(same(thing, tool) for thing in do.things for tool in earlier.tools):
        # "Water the plants with the can and put it back".
        return True
    used: list[Phrase] = list(do.tools)
    if "watered" in do.states and any(state.startswith("filled") for state in earlier.states):
        return True
    if earlier.act is Act.MAKE and not only_beside(do):
        used += anchors(do)
    for thing in do.things:
        if isinstance(thing, Noun):
            used += [
                w.anchor for w in thing.where if w.way is Way.FROM and isinstance(w.anchor, Noun)
            ]
    return any(same(thing, other) for thing in used for other in earlier.things)


def _spare(do: Do, guard: Do, *, opposed: bool = False) -> None:
    """Adds what is protected to the exceptions of what would include it."""
    other = guard.states and do.states != guard.states and not opposed
    if do.act not in (Act.MOVE, Act.MAKE) or other:
        return
    for thing in do.things:
        if not isinstance(thing, Noun) or thing.count is not Amount.ALL:
            continue
        if opposed and thing.described:
            # "The green blocks in the box, the red ones on the table".
            continue
        for spared in guard.things:
            if (
                isinstance(spared, Noun)
                and _includes(thing, spared)
                and not any(other is thing for other in spared.other_than)
                and not any(same(spared, b) for b in thing.but)
            ):
                thing.but.append(spared)


def _includes(whole: Noun, part: Noun) -> bool:
    return includes(whole.kind, part.kind) and (
        part.described or not includes(part.kind, whole.kind)
    )
