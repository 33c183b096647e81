"""Carries out what is asked of people, request by request: the part of planner `words` for them.

Things are left to planner `words`, one request at a time; people are found, met, told, followed and
led by the skills for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue, ValidationError

from planner.grounding.grounder import Binder
from planner.grounding.records import is_speaker, request_words, words_of
from planner.grounding.scene import scene_of_belief
from planner.language.goal_form import (
    Anchor,
    Description,
    Find,
    Follow,
    Go,
    Goal,
    Guide,
    Meet,
    Mention,
    Move,
    NounPhrase,
    Place,
    Request,
    Tell,
    phrases_of,
    phrases_within,
)
from planner.language.lexicon import PERSON, TOPICS_OF, Spot, Topic
from planner.memory.query import Believed
from planner.planning.expert.expert import DONE
from planner.planning.knowledge import Knowledge
from planner.planning.planner import AgentResult, Context, Decision, Planner, Task
from planner.skills.persons import persons
from planner.world.belief import Belief, BeliefNode
from planner.world.geometry import Box
from planner.world.house import House
from planner.world.person import PersonDescription, read_description
from planner.world.skill import SkillCall, SkillCode, SkillResult
from planner.world.topics import InstructionCode, one_line
from planner.world.vocabulary import AgentKind, EntityKind, Relation

_UNKNOWN = "I am sorry, I do not know that."
# How far from a piece of furniture somebody is who is at it.
_AT_M = 1.2
# On so many pieces near a person is tried to put down what the person cannot take.
_PIECES = 3
_TRAITS = (Topic.NAME, Topic.POSTURE, Topic.GESTURE)


class _FailedError(Exception):
    """A request cannot be done, for the reason of its text."""


@dataclass(frozen=True, slots=True)
class _Things:
    """A goal about things, which planner `words` carries out in between."""

    goal: Goal


_Step = SkillCall | _Things
_Errand = Generator[_Step, SkillResult, str]


def needs_company(goal: Goal, belief: Belief) -> bool:
    """Whether a person is a part of what is asked for, or the robot tells what only it knows.

    The speaker is a person who is there without acting, unless somebody else acts.
    """
    alone = not any(node.class_name == AgentKind.HUMAN for node in belief.of_kind(EntityKind.AGENT))
    return any(
        _about_people(request)
        or (isinstance(request, Tell) and request.topic not in TOPICS_OF)
        or (alone and _comes_to_speaker(request))
        for request in goal.requests
    )


def _comes_to_speaker(request: Request) -> bool:
    return isinstance(request, Move | Go) and any(p.anchor is Spot.ME for p in request.to)


def _about_people(request: Request) -> bool:
    inner = (part for phrase in phrases_of(request) for part in phrases_within(phrase))
    with_them = isinstance(request, Meet | Follow | Guide)
    return with_them or any(isinstance(p, Description) and p.kind == PERSON for p in inner)


class Company:
    """A planner for one goal, by one robot.

    `things` makes the planner of a goal about things, with the name of the person who speaks.
    """

    name = "words"

    def __init__(
        self,
        context: Context,
        task: Task,
        goal: Goal,
        knowledge: Knowledge,
        things: Callable[[Task, str], Planner],
    ) -> None:
        self._context, self._task, self._goal, self._make = context, task, goal, things
        self._knowledge = knowledge
        self._waiting = list(goal.requests)
        self._errand: _Errand | None = None
        self._call: SkillCall | None = None
        self._result: SkillResult | None = None
        self._inner: Planner | None = None
        self._is_told = False
        self._handles: dict[NounPhrase, str] = {}
        self._labelled: dict[str, str] = {}
        # What those look like who were found, in case that they go away.
        self._looks: dict[str, str] = {}
        self._speaker: str | None = None
        # Nobody is there who could speak, so that all of it is left to the planner for things.
        self.is_unheard = False
        self._done: list[str] = []
        self._told: list[str] = []
        self._failed: list[str] = []

    @property
    def parts(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What was asked for, in words: what is done, and what is left."""
        return tuple(self._done), tuple(map(request_words, self._waiting))

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Records how calls ended."""
        if self._inner is not None:
            self._inner.observe(results)
        for ended in results:
            if ended.call == self._call:
                self._result = ended.result

    async def decide(self, context: Context) -> Decision:
        """The next call of the robot; the end with a report."""
        self._context = context
        robot = self._task.agents[0]
        if robot not in context.idle:
            return Decision()
        while True:
            if self._inner is not None:
                inner = await self._inner.decide(replace(context, idle=(robot,)))
                # What is judged is the whole.
                decision = replace(inner, goal=self._whole())
                if not decision.failure and decision.calls.get(robot) != DONE:
                    return decision
                self._inner, self._result = None, _ended(decision)
            step = self._next()
            if self.is_unheard:
                return Decision()
            if step is None:
                return self._end(context)
            if isinstance(step, SkillCall):
                self._call, self._result = step, None
                return Decision({robot: step}, str(step), goal=self._whole())
            self._inner = self._make(
                replace(self._task, agents=(robot,), meaning=step.goal, goal=None),
                self._speaker or "",
            )

    def _whole(self) -> Mapping[str, JsonValue] | None:
        """What was understood, said once."""
        told, self._is_told = self._is_told, True
        return None if told else Binder(self._goal).understood

    def _next(self) -> _Step | None:
        """The next step of the errand under way, or of those that wait; None at the end."""
        while True:
            if self._errand is None:
                if not self._waiting or self._failed:
                    return None
                self._errand, self._result = self._begun(self._waiting[0]), None
            try:
                result, self._result = self._result, None
                return next(self._errand) if result is None else self._errand.send(result)
            except StopIteration as stop:
                self._ended(stop.value or "", "")
            except _FailedError as error:
                self._ended("", str(error))

    def _ended(self, told: str, failure: str) -> None:
        words = request_words(self._waiting.pop(0))
        self._errand = None
        if failure:
            self._failed.append(f"{words} ({failure})")
        else:
            self._done.append(words)
        self._told += [told] if told else []

    def _end(self, context: Context) -> Decision:
        """The report; what comes after a failure is not done either."""
        left = [*self._failed, *(request_words(request) for request in self._waiting)]
        said = [f"done: {'; '.join(self._done)}"] if self._done else []
        said += [f"not done: {'; '.join(left)}"] if left else []
        text = ". ".join((*said, *self._told))
        if left:
            return Decision(failure=text, end=InstructionCode.GAVE_UP)
        return Decision(dict.fromkeys(context.idle, DONE), text)

    # One request each.

    def _begun(self, request: Request) -> _Errand:
        """A request, once it is known who speaks, if that matters for one that is still to come."""
        if self._speaker is None and any(map(_means_speaker, self._waiting)):
            self._speaker = yield from self._who_speaks()
            if self._speaker:
                yield from self._speaks()
            self.is_unheard = not self._speaker and not any(map(_about_people, self._goal.requests))
        if self.is_unheard:
            return ""
        return (yield from self._of(request))

    def _who_speaks(self) -> Generator[_Step, SkillResult, str]:
        """The nearest person in the room where the robot is; "" if nobody is there."""
        robot = self._belief.find(self._task.agents[0])
        if robot is None or robot.room is None:
            return ""
        there = [node for node in persons(self._belief) if node.room == robot.room]
        if there:
            gaps = {node.name: math.dist(node.position_m, robot.position_m) for node in there}
            return min(gaps, key=lambda name: gaps[name])
        looked = yield SkillCall("FindPerson", (f"person in {robot.room}",))
        return looked.evidence.get("person", "")

    def _speaks(self) -> Generator[_Step, SkillResult, str]:
        """The handle of who speaks, who is looked for if need be."""
        if not self._speaker:
            raise _FailedError("nobody knows where the speaker is")
        self._speaker = yield from self._present(self._speaker)
        return self._speaker

    def _present(self, handle: str) -> Generator[_Step, SkillResult, str]:
        """The handle of a person who was found before and may have gone away since."""
        node = self._belief.find(handle)
        if node is not None:
            if node.person is not None:
                worn = f" in a {node.person.clothes[0]}" if node.person.clothes else ""
                self._looks[handle] = f"{node.person.name or 'person'}{worn}"
            return handle
        found = yield from self._do("FindPerson", self._looks.get(handle, PERSON))
        return found.evidence.get("person", handle)

    def _of(self, request: Request) -> _Errand:
        to_speaker = self._speaker and _comes_to_speaker(request)
        if not to_speaker and not _about_people(request) and not isinstance(request, Tell):
            yield from self._things(request)
        elif isinstance(request, Go):
            yield from self._do("Navigate", (yield from self._speaks()))
        elif isinstance(request, Meet):
            for phrase in request.things:
                yield from self._do("Greet", (yield from self._find(phrase)))
        elif isinstance(request, Find):
            for phrase in request.things:
                yield from self._find(phrase)
        elif isinstance(request, Follow | Guide):
            yield from self._along(request)
        elif isinstance(request, Tell):
            return (yield from self._tell(request))
        elif isinstance(request, Move):
            yield from self._hand_over(request)
        else:
            raise _FailedError("no skill does this with people")
        return ""

    def _find(self, phrase: NounPhrase | Anchor) -> Generator[_Step, SkillResult, str]:
        """The handle of a person, who is looked for once."""
        if phrase is Spot.ME:
            return (yield from self._speaks())
        if isinstance(phrase, Mention) and phrase.label in self._labelled:
            return self._labelled[phrase.label]
        if not isinstance(phrase, Description) or phrase.kind != PERSON or phrase.count != 1:
            raise _FailedError("one person must be described")
        if is_speaker(phrase):
            return (yield from self._speaks())
        if phrase in self._handles:
            return (yield from self._present(self._handles[phrase]))
        place = self._place(phrase.where)
        if place is not None and place in self._layout.furniture_by_name:
            handle = yield from self._find_at(phrase, place)
        else:
            result = yield from self._do("FindPerson", words_of(phrase))
            handle = result.evidence.get("person", "")
        self._handles[phrase] = handle
        yield from self._present(handle)
        self._labelled[phrase.label or ""] = handle
        return handle

    def _find_at(self, phrase: Description, place: str) -> Generator[_Step, SkillResult, str]:
        """The handle of a person at a piece of furniture, who is asked for the name if need be."""
        yield from self._do("Navigate", place)
        wanted, box = read_description(words_of(phrase)), self._layout.furniture_by_name[place].box
        if not self._at(box, wanted):
            yield from self._do("LookRound")
        for node in self._at(box, wanted):
            if node.person is None:
                continue
            name = node.person.name
            if wanted.name and not name:
                asked = yield from self._do("AskName", node.name)
                name = asked.evidence.get("name", "")
            if not wanted.name or name.lower() == wanted.name.lower():
                return node.name
        raise _FailedError(f"nobody like that is at {place}")

    def _at(self, box: Box, wanted: PersonDescription) -> list[BeliefNode]:
        """The known persons at a piece of furniture who are as described, the name aside."""
        there = [n for n in persons(self._belief) if box.contains(n.position_m, margin_m=_AT_M)]
        looks = wanted.without_name
        return [n for n in there if n.person is not None and looks.fits(n.person)]

    def _along(self, request: Follow | Guide) -> _Errand:
        for phrase in request.things:
            person = yield from self._find(phrase)
            meets = [place.anchor for place in request.to if _is_somebody(place.anchor)]
            place = (yield from self._find(meets[0])) if meets else self._place(request.to)
            verb = "Guide" if isinstance(request, Guide) else "Follow"
            yield from self._do(verb, person, place)
        return ""

    def _hand_over(self, request: Move) -> _Errand:
        """Things are found and taken, then the person is found who gets them, one by one."""
        if len(request.to) != 1:
            raise _FailedError("one person is expected")
        whom = request.to[0].anchor
        single = all(isinstance(t, Description) and t.count == 1 for t in request.things)
        if whom is Spot.ME and not single:
            # "All cups" are put down where the speaker is.
            return (yield from self._things(request))
        for thing in request.things:
            held_before = self._held()
            yield from self._things(Find(things=(thing,)))
            name = self._bound(thing)
            if name not in held_before:
                yield from self._do("Navigate", name)
                yield from self._do("Pick", name)
            person = yield from self._find(whom)
            given = yield SkillCall("HandOver", (name, person))
            if given.code is SkillCode.NEED_UNMET:
                yield from self._put_down_near(name, person)
            elif given.code is not SkillCode.SUCCESS:
                raise _FailedError(given.text)
        return ""

    def _put_down_near(self, name: str, person: str) -> _Errand:
        """Puts what is held on the nearest furniture in the room of who has the hands full."""
        node = self._belief.find(person)
        room, at_m = (node.room, node.position_m) if node is not None else ("", (0.0, 0.0, 0.0))
        pieces = [p for p in self._layout.furniture if p.room == room and p.surfaces]
        for piece in sorted(pieces, key=lambda piece: piece.box.distance_m(at_m))[:_PIECES]:
            yield SkillCall("Navigate", (piece.name,))
            put = yield SkillCall("Place", (name, Relation.ON, piece.name, None, None))
            if put.code is SkillCode.SUCCESS:
                return ""
        raise _FailedError(f"there is no place for {name} near {person}")

    def _tell(self, request: Tell) -> _Errand:
        if request.topic is Topic.ANSWER:
            return (yield from self._answer(request))
        said = yield from self._what(request)
        if request.to is Spot.ME:
            return said
        person = yield from self._find(request.to)
        kind = f"count:{said}" if request.topic is Topic.COUNT else str(request.topic)
        yield from self._do("Say", person, f"{kind}: {said}")
        return ""

    def _answer(self, request: Tell) -> _Errand:
        """A person is asked for the question, and gets the answer, or hears that there is none."""
        if request.to is Spot.ME:
            raise _FailedError("say the question itself")
        person = yield from self._find(request.to)
        heard = yield from self._do("Listen", person)
        question = one_line(heard.evidence.get("question", ""))
        answer = self._knowledge.answer(question, Believed(self._belief, self._layout))
        yield from self._do("Say", person, f"{Topic.ANSWER}: {answer or _UNKNOWN}")
        if answer is None:
            raise _FailedError(f"nobody knows the answer to: {question}")
        return f"{question} {answer}"

    def _what(self, request: Tell) -> Generator[_Step, SkillResult, str]:
        """What is told."""
        if (known := self._knowledge.about(request.topic)) is not None:
            return known
        if request.topic is Topic.COUNT:
            return (yield from self._count(request.things[0]))
        if request.topic not in _TRAITS:
            raise _FailedError(f"nobody knows the {request.topic.replace('_', ' ')}")
        person = yield from self._find(request.things[0])
        if request.topic is Topic.NAME:
            result = yield from self._do("AskName", person)
            return result.evidence.get("name", "") or "The name was not told."
        node = self._belief.find(person)
        seen = None if node is None else node.person
        if seen is None:
            raise _FailedError(f"{person} is not known any more")
        if request.topic is Topic.POSTURE:
            return str(seen.posture)
        return "none" if seen.gesture is None else seen.gesture.replace("_", " ")

    def _count(self, phrase: NounPhrase) -> Generator[_Step, SkillResult, str]:
        """How many people in a room, which is explored first, are as described."""
        place = self._place(phrase.where) if isinstance(phrase, Description) else None
        if place not in self._layout.rooms_by_name:
            raise _FailedError("a room must be said")
        yield from self._do("Explore", place)
        wanted = read_description(words_of(phrase))
        there = [n for n in persons(self._belief) if n.room == place and n.person is not None]
        return str(sum(n.person is not None and wanted.fits(n.person) for n in there))

    # What all of them do.

    def _do(self, skill: str, *words: str | None) -> Generator[_Step, SkillResult, SkillResult]:
        """A skill call that has to succeed."""
        result = yield SkillCall(skill, words)
        if result.code is not SkillCode.SUCCESS:
            raise _FailedError(result.text)
        return result

    def _things(self, request: Request) -> _Errand:
        try:
            goal = Goal(steps=((request,),))
        except ValidationError:
            # A label of another request.
            raise _FailedError("it is about what was named before") from None
        result = yield _Things(goal)
        if result.code is not SkillCode.SUCCESS:
            raise _FailedError(result.text)
        return ""

    @property
    def _belief(self) -> Belief:
        return self._context.belief

    @property
    def _layout(self) -> House:
        return self._context.layout

    def _held(self) -> frozenset[str]:
        robot = self._task.agents[0]
        return frozenset(n.name for n in self._belief.nodes.values() if n.parent == robot)

    def _bound(self, thing: NounPhrase) -> str:
        """The first known thing that is meant."""
        names = self._names(thing)
        if not names:
            raise _FailedError(f"not found: {words_of(thing)}")
        return names[0]

    def _place(self, places: Sequence[Place]) -> str | None:
        """The room or furniture that places name; None if there are none."""
        if not places:
            return None
        anchor = places[0].anchor
        if not isinstance(anchor, Description):
            raise _FailedError(f"not a place: {words_of(anchor)}")
        names = self._names(anchor)
        if not names:
            raise _FailedError(f"there is no such place: {words_of(anchor)}")
        return names[0]

    def _names(self, phrase: NounPhrase) -> Sequence[str]:
        """What a description is bound to by what is known."""
        binder = Binder(Goal(steps=((Find(things=(phrase,)),),)), settle=True)
        found = binder.update(scene_of_belief(self._belief, self._layout))
        return list(found.bound.values())[-1] if found.bound else ()


def _means_speaker(request: Request) -> bool:
    inner = (part for phrase in phrases_of(request) for part in phrases_within(phrase))
    return not (isinstance(request, Tell) and request.to is Spot.ME) and Spot.ME in inner


def _is_somebody(anchor: Anchor) -> bool:
    return anchor is Spot.ME or (isinstance(anchor, Description) and anchor.kind == PERSON)


def _ended(decision: Decision) -> SkillResult:
    """How a goal about things ended, as a result."""
    text = decision.failure or decision.question
    if text:
        return SkillResult(SkillCode.NEED_UNMET, text)
    return SkillResult(SkillCode.SUCCESS, decision.thought)
