"""Skills with persons: find, greet, tell, ask, follow, guide, and things that change hands."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Generator, Iterable, Iterator
from dataclasses import replace

from planner.skills.attempt import Attempt, Motion, Routine
from planner.skills.moving import AROUND_RAD, go_to, look
from planner.skills.preconditions import Arguments, Target
from planner.skills.results import Effect, RefusalError, failure
from planner.world.belief import Belief, BeliefNode
from planner.world.geometry import Vec3
from planner.world.person import (
    MAX_SAID,
    NO,
    PERSON_CLASS,
    QUESTION_ANSWER,
    TALK_M,
    Act,
    PersonDescription,
    read_description,
)
from planner.world.primitive import (
    ANSWER,
    CHANGED,
    Primitive,
    PrimitiveCode,
    PrimitiveName,
    PrimitiveResult,
    moved_text,
)
from planner.world.skill import SkillCall, SkillCode, SkillResult
from planner.world.vocabulary import EntityKind, Hand, Relation, with_thing

# How near an agent goes to whom it talks to, and how near a person who comes along stays.
COMPANY_M, NEAR_M = (0.9, 1.3), 3.0
_TRIES = 4
# From so many sides of a room that is named one looks for somebody.
_SIDES = 2
# A person who has stood for so many looks is asked whether this is the place.
_STILL_LOOKS, _MOVED_M = 3, 0.15
# A camera that looks there already takes no time, and the memory has no newer picture yet.
_PICTURE_S = 1.0

_SAID = {
    Act.GREET: "Hello.",
    Act.ASK: "What is your {rest}?",
    Act.FOLLOW: "I will follow you.",
    Act.ARRIVED: "Are we there?",
    Act.COME: "Please come with me.",
    Act.STAY: "Here we are.",
}


def persons(belief: Belief) -> list[BeliefNode]:
    """The known persons, in the order in which they became known."""
    return [node for node in belief.of_kind(EntityKind.OBJECT) if node.class_name == PERSON_CLASS]


def greet(attempt: Attempt, arguments: Arguments) -> Routine:
    """Goes to a person and says hello."""
    return (yield from _talk(attempt, _person(arguments), Act.GREET))


def say(attempt: Attempt, arguments: Arguments) -> Routine:
    """Goes to a person and says a text; a kind before a colon, as in `joke: ...`, is not said."""
    return (yield from _talk(attempt, _person(arguments), Act.TELL, arguments.text))


def ask_name(attempt: Attempt, arguments: Arguments) -> Routine:
    """Goes to a person and asks for the name; the memory learns it from the evidence."""
    return (yield from _ask_name(attempt, _person(arguments)))


def listen(attempt: Attempt, arguments: Arguments) -> Routine:
    """Goes to a person and asks for the question that the person has; the evidence has it."""
    asked = yield from _talk(attempt, _person(arguments), Act.ASK, QUESTION_ANSWER)
    if not asked.succeeded:
        return asked
    question = asked.evidence.get(ANSWER, "")
    told = replace(asked, evidence={**asked.evidence, "question": question})
    return replace(told, text=f"{told.text} {_person(arguments).name} asks: {question}")


def _ask_name(attempt: Attempt, person: Target) -> Routine:
    asked = yield from _talk(attempt, person, Act.ASK, "name")
    if not asked.succeeded:
        return asked
    name = asked.evidence.get(ANSWER, "")
    told = replace(asked, evidence={**asked.evidence, "name": name})
    return replace(told, text=f"{told.text} {person.name} is {name}.")


# Finding


def find_person(attempt: Attempt, arguments: Arguments) -> Routine:
    """Looks for a person who is as described: in the memory, then room by room.

    A name is asked for, of everybody whose name is not known and who is else as described.
    """
    wanted, belief = read_description(arguments.text), attempt.belief
    rooms = _rooms_in(attempt, arguments.text)
    named = belief.find(arguments.text.strip())
    if named is not None and named.class_name == PERSON_CLASS:
        return _found(attempt, named)
    asked: set[str] = set()
    for room in (None, *rooms):
        if room is not None:
            stand = attempt.scene.ground.in_room(room, attempt.base)
            if stand is None:
                continue
            walked = yield from attempt.walk(stand.point_m, f"walking to {room}", stand.yaw_rad)
            if not walked.succeeded:
                continue
            yield from look(attempt, AROUND_RAD, f"looking for {arguments.text}")
            if len(rooms) < len(attempt.scene.layout.rooms) and not _fitting(
                attempt, wanted.without_name, rooms
            ):
                yield from _look_from_the_sides(attempt, room)
        for known in (None, *([] if not wanted.name else _unnamed(attempt, wanted, rooms))):
            if known is not None and known.name not in asked:
                asked.add(known.name)
                name = yield from _learn_name(attempt, known)
                if name.lower() == wanted.name.lower():
                    return _found(attempt, known, name)
            for node in _fitting(attempt, wanted, rooms):
                return _found(attempt, node)
    sentence = f"Nobody was found who is as described: {arguments.text.strip() or 'a person'}."
    return attempt.failure(SkillCode.NOT_GROUNDED, sentence)


def _fitting(
    attempt: Attempt, wanted: PersonDescription, rooms: Collection[str]
) -> list[BeliefNode]:
    """The known persons in rooms who are as described."""
    there = (node for node in persons(attempt.belief) if node.room and node.room in rooms)
    return [node for node in there if node.person is not None and wanted.fits(node.person)]


def _look_from_the_sides(attempt: Attempt, room: str) -> Motion:
    """Looks around beside the furniture that is furthest away: somebody may lie behind some."""
    scene, base = attempt.scene, attempt.base or (0.0, 0.0, 0.0)
    pieces = [piece for piece in scene.layout.furniture if piece.room == room]
    away = sorted(pieces, key=lambda piece: -math.dist((piece.x_m, piece.y_m), base[:2]))
    result = PrimitiveResult(PrimitiveCode.SUCCESS, "")
    for piece in away[:_SIDES]:
        stand = scene.ground.at_furniture(piece, attempt.base, scene.capabilities.reach_m)
        if stand is None:
            continue
        phase = f"looking around at {piece.name}"
        result = yield from attempt.walk(stand.point_m, phase, stand.yaw_rad)
        if result.succeeded:
            yield from look(attempt, AROUND_RAD, phase)
    return result


def _unnamed(
    attempt: Attempt, wanted: PersonDescription, rooms: Iterable[str]
) -> Iterator[BeliefNode]:
    for node in persons(attempt.belief):
        person = node.person
        elsewhere = node.room is None or node.room not in rooms
        if elsewhere or person is None or person.name:
            continue
        if wanted.without_name.fits(person):
            yield node


def _learn_name(attempt: Attempt, node: BeliefNode) -> Generator[tuple[str, float], None, str]:
    """Asks for a name and reports that as a call of its own, so that the memory keeps it."""
    answer = yield from _ask_name(attempt, _target(node))
    evidence = {**answer.evidence, "agent": attempt.scene.agent}
    part = replace(answer, evidence=evidence, part_of=str(attempt.call))
    if answer.succeeded:
        attempt.scene.report(SkillCall("AskName", (node.name,)), part)
    return answer.evidence.get("name", "")


def _rooms_in(attempt: Attempt, text: str) -> list[str]:
    """The rooms that a description names, else all; the one where the agent is first."""
    layout, base = attempt.scene.layout, attempt.base or (0.0, 0.0, 0.0)
    words = f" {re.sub(r'[^a-z0-9]+', ' ', text.lower())} "
    named = [
        room.name
        for room in layout.rooms
        if any(f" {w.replace('_', ' ')} " in words for w in (room.name, room.class_name))
    ]
    exact = [name for name in named if f" {name.replace('_', ' ')} " in words]
    here = layout.room_at(base[0], base[1])

    def away_m(name: str) -> tuple[bool, float]:
        middle = layout.rooms_by_name[name].shape.representative_point()
        return name != here, math.dist((middle.x, middle.y), base[:2])

    return sorted(exact or named or layout.rooms_by_name, key=away_m)


def _found(attempt: Attempt, node: BeliefNode, name: str = "") -> SkillResult:
    words = node.person.words if node.person is not None else ""
    told = {"person": node.name, "room": node.room or "", **({"name": name} if name else {})}
    done = attempt.success(None, **told)
    known = ", ".join(filter(None, (name, words)))
    return replace(done, text=f"{done.text} {node.name} is in {node.room}: {known}.")


# Following and guiding


def follow(attempt: Attempt, arguments: Arguments) -> Routine:
    """Follows a person to a place, or to where the person wants to go.

    The person is asked first, and says when this is the place.
    """
    person = _person(arguments)
    place = arguments.entities[1].name if len(arguments.entities) > 1 else ""
    asked = yield from _talk(attempt, person, Act.FOLLOW, place)
    if not asked.succeeded:
        return asked
    still, lost, unheard, last_m = 0, 0, 0, person.point_m
    seen_s = attempt.scene.port.now_s()
    phase = f"following {person.name}"
    while max(lost, unheard) <= _TRIES:
        attempt.end_if_out_of_time()
        if _gap_m(attempt, last_m) > TALK_M:
            yield from _go_near(attempt, last_m, phase)
        node = yield from _see(attempt, person, last_m, seen_s)
        if node is None:
            last_m = yield from _go_after(attempt, last_m, lost, phase)
            lost += 1
            continue
        lost, moved_m, last_m = 0, math.dist(node.position_m, last_m), node.position_m
        seen_s = max(seen_s, node.stamp_s)
        still = still + 1 if moved_m <= _MOVED_M else 0
        if still < _STILL_LOOKS or _gap_m(attempt, last_m) > TALK_M:
            continue
        there = yield from _talk(attempt, _target(node), Act.ARRIVED)
        if there.succeeded and there.evidence.get(ANSWER) != NO:
            return _with_place(there, node)
        # Perhaps the agent is in the way, or nobody is there any more.
        unheard += not there.succeeded
        yield from _step_back(attempt, last_m, phase)
        still = 0
    return attempt.failure(SkillCode.NOT_VISIBLE, f"{person.name} was lost on the way.")


def _with_place(result: SkillResult, node: BeliefNode) -> SkillResult:
    """A result that tells the memory where the person is now."""
    if not result.succeeded or node.parent is None or node.relation is None:
        return result
    moved = moved_text(node.name, node.parent, node.relation, node.position_m)
    where = {"room": node.room or "", CHANGED: moved}
    return replace(result, evidence={**result.evidence, **where})


def guide(attempt: Attempt, arguments: Arguments) -> Routine:
    """Asks a person to come along, goes to a place, and looks whether the person is there."""
    person, place = _person(arguments), arguments.entities[1]
    asked = yield from _talk(attempt, person, Act.COME)
    if not asked.succeeded:
        return asked
    attempt.evidence.update(person=person.name, place=place.name)
    if _is_person(place.node):
        gone = yield from _approach(attempt, place)
        if gone is not None:
            return gone
    else:
        walked = yield from go_to(attempt, place)
        if not walked.succeeded:
            return failure(walked, place.name, **attempt.evidence)
    for _ in range(_TRIES):
        node = yield from _see(attempt, person, attempt.base or person.point_m)
        if node is not None and _gap_m(attempt, node.position_m) <= NEAR_M:
            stays = yield from _talk(attempt, _target(node), Act.STAY)
            if stays.code is SkillCode.TOO_FAR:
                # Still in the door.
                yield from look(attempt, AROUND_RAD, f"waiting for {person.name}")
                continue
            return _with_place(stays, _known(attempt, person) or node)
    sentence = f"{person.name} did not come along."
    return attempt.failure(SkillCode.NEED_UNMET, sentence)


# Things that change hands


def hand_over(attempt: Attempt, arguments: Arguments) -> Routine:
    """Gives the held thing to a person."""
    thing, person = arguments.entities
    hand = attempt.hand_for(thing.name)
    phase = f"handing {thing.name} to {person.name}"
    primitive = Primitive(PrimitiveName.HAND_OVER, person.point_m, hand=hand)
    result = yield from _do_with(attempt, person, primitive, phase, "Here you are.")
    if isinstance(result, SkillResult):
        return result
    hands = with_thing(attempt.hands, hand or Hand.RIGHT, None)
    now_s = attempt.scene.port.now_s()
    effect = Effect(thing.name, person.name, Relation.HELD, result.position_m, now_s)
    attempt.scene.team.placed(attempt.scene.agent, hands, effect)
    return attempt.success(result.position_m)


def take_from(attempt: Attempt, arguments: Arguments) -> Routine:
    """Takes what a person holds; the evidence names it."""
    person, hand = _person(arguments), attempt.hand_for("")
    primitive = Primitive(PrimitiveName.TAKE_FROM, person.point_m, hand=hand)
    phase = f"taking what {person.name} holds"
    result = yield from _do_with(attempt, person, primitive, phase, "May I take that?")
    if isinstance(result, SkillResult):
        return result
    taken, now_s = result.evidence.get("thing", ""), attempt.scene.port.now_s()
    hands = with_thing(attempt.hands, hand or Hand.RIGHT, taken or None)
    attempt.scene.team.picked(attempt.scene.agent, hands, taken, now_s)
    return attempt.success(result.position_m)


# What all of them do


def _talk(attempt: Attempt, person: Target, act: Act, rest: str = "") -> Routine:
    said = re.sub(r"^\w+(?::\w+)?: ", "", rest) if act is Act.TELL else _SAID[act]
    said = said.format(rest=rest) if act is Act.ASK else said
    words = f"{act} {rest}".strip()
    primitive = Primitive(PrimitiveName.TALK, person.point_m, words=words)
    attempt.evidence.update(person=person.name, said=said)
    phase = f"talking to {person.name}"
    result = yield from _do_with(attempt, person, primitive, phase, said)
    if isinstance(result, SkillResult):
        return result
    answer = result.evidence.get(ANSWER)
    attempt.evidence.update({ANSWER: answer} if answer is not None else {})
    return attempt.success()


def _do_with(
    attempt: Attempt, person: Target, primitive: Primitive, phase: str, said: str
) -> Generator[tuple[str, float], None, PrimitiveResult | SkillResult]:
    """Does something with a person, who is looked for if no longer there; else the failure."""
    gate_m = attempt.scene.options.grounding_gate_m
    for is_last in (False, True):
        gone = yield from _approach(attempt, person)
        if gone is not None:
            return gone
        attempt.scene.speak(said)
        there = replace(primitive, target_m=_newest_m(attempt, person), tolerance_m=gate_m)
        result = yield from attempt.do(there, phase)
        if result.succeeded:
            attempt.evidence.update(result.evidence)
            return result
        is_gone = result.code is PrimitiveCode.NOTHING_THERE
        if is_last or not is_gone or not (yield from _seek(attempt, person)):
            break
    attempt.evidence.update(result.evidence)
    return _failed(attempt, person, result.code, result.text)


def _seek(attempt: Attempt, person: Target) -> Generator[tuple[str, float], None, bool]:
    """Looks for a person who has gone away, room by room, the nearest first; whether seen."""
    since_s, phase = attempt.scene.port.now_s(), f"looking for {person.name}"
    for room in _rooms_in(attempt, ""):
        attempt.end_if_out_of_time()
        stand = attempt.scene.ground.in_room(room, attempt.base)
        if stand is None:
            continue
        walked = yield from attempt.walk(stand.point_m, phase, stand.yaw_rad)
        if walked.succeeded:
            yield from look(attempt, AROUND_RAD, phase)
        node = _known(attempt, person)
        if node is not None and node.stamp_s >= since_s:
            return True
    return False


def _failed(attempt: Attempt, person: Target, code: PrimitiveCode, text: str) -> SkillResult:
    """The failure of what was done with a person, in words about persons."""
    if code is PrimitiveCode.NOTHING_THERE:
        node = _known(attempt, person)
        where = f"in {node.room}" if node is not None and node.room else "where it was last seen"
        sentence = f"{person.name} is not {where} any more."
        return attempt.failure(SkillCode.NOT_GROUNDED, sentence)
    if code is PrimitiveCode.HAND_FULL:
        return attempt.failure(SkillCode.ALREADY_HOLDING, attempt.already_holding())
    if code is PrimitiveCode.NEED_UNMET:
        return attempt.failure(SkillCode.NEED_UNMET, f"{text}.")
    if code is PrimitiveCode.UNREACHABLE:
        return attempt.failure(SkillCode.UNREACHABLE, f"{person.name} cannot go there: {text}.")
    if code is PrimitiveCode.TOO_FAR:
        return attempt.failure(SkillCode.TOO_FAR, f"{person.name} is too far.")
    return attempt.failure(SkillCode.BACKEND_FAULT, f"The world could not do it: {text}.")


def _approach(
    attempt: Attempt, person: Target
) -> Generator[tuple[str, float], None, SkillResult | None]:
    """Goes near a person, who may have moved meanwhile; None = there, else the failure."""
    for _ in range(_TRIES):
        node = _known(attempt, person)
        point_m = person.point_m if node is None else node.position_m
        if _gap_m(attempt, point_m) <= TALK_M - 0.2:
            return None
        walked = yield from _go_near(attempt, point_m, f"walking to {person.name}")
        if not walked.succeeded:
            return failure(walked, person.name, **attempt.evidence)
        # A look tells the memory where the person is now.
        yield from attempt.do(Primitive(PrimitiveName.LOOK, point_m), f"looking at {person.name}")
    return None


def _go_near(attempt: Attempt, point_m: Vec3, phase: str) -> Motion:
    """Walks to where a person is within hearing, and not so close that one is in the way."""
    stand = attempt.scene.ground.beside(point_m, attempt.base, COMPANY_M)
    if stand is not None:
        return (yield from attempt.walk(stand.point_m, phase, stand.yaw_rad))
    closer = Primitive(PrimitiveName.NAVIGATE, point_m, standoff_m=COMPANY_M[0])
    return (yield from attempt.do(closer, phase))


def _go_after(
    attempt: Attempt, last_m: Vec3, tries: int, phase: str
) -> Generator[tuple[str, float], None, Vec3]:
    """Walks to where a person was last seen, then through the doors near there; returns where."""
    doors = ((*door.center_m[:2], last_m[2]) for door in attempt.scene.layout.doors)
    ways = [last_m, *sorted(doors, key=lambda point: math.dist(point, last_m))]
    point_m = ways[min(tries, len(ways) - 1)]
    yield from attempt.walk(point_m, phase)
    return point_m


def _step_back(attempt: Attempt, point_m: Vec3, phase: str) -> Motion:
    stand = attempt.scene.ground.back_from(point_m, attempt.base, NEAR_M)
    if stand is None:
        return PrimitiveResult(PrimitiveCode.UNREACHABLE, "no free floor")
    return (yield from attempt.walk(stand.point_m, phase, stand.yaw_rad))


def _see(
    attempt: Attempt, person: Target, point_m: Vec3, seen_s: float = math.inf
) -> Generator[tuple[str, float], None, BeliefNode | None]:
    """Looks at a point, then around; the person as just seen, or None.

    `seen_s`: when the person was seen last before this; what was seen since then, on the way, is
    news, too.
    """
    since_s, phase = attempt.scene.port.now_s() - _PICTURE_S, f"looking for {person.name}"
    for views in ((), AROUND_RAD):
        yield from attempt.do(Primitive(PrimitiveName.LOOK, point_m, views_rad=views), phase)
        node = _known(attempt, person)
        if node is None:
            continue
        # Of what stands still before a still camera there is nothing new to remember.
        is_still_there = not views and math.dist(node.position_m, point_m) <= _MOVED_M
        if is_still_there or node.stamp_s >= since_s or node.stamp_s > seen_s:
            return node
    return None


def _known(attempt: Attempt, person: Target) -> BeliefNode | None:
    return attempt.belief.find(person.name)


def _newest_m(attempt: Attempt, person: Target) -> Vec3:
    """Where a person was seen last."""
    node = _known(attempt, person)
    return person.point_m if node is None else node.position_m


def _gap_m(attempt: Attempt, point_m: Vec3) -> float:
    base = attempt.base
    return math.inf if base is None else math.dist(base[:2], point_m[:2])


def _target(node: BeliefNode) -> Target:
    return Target(node.name, node.kind, node.position_m, node, room=node.room)


def _is_person(node: BeliefNode | None) -> bool:
    return node is not None and node.class_name == PERSON_CLASS


def _person(arguments: Arguments) -> Target:
    if not arguments.entities:
        raise ValueError("internal error: no person after the preconditions")
    return arguments.entities[0]


def text_is_short(attempt: Attempt, arguments: Arguments) -> None:  # noqa: ARG001
    """There is a text, and it is no longer than one breath.

    Raises:
        RefusalError: otherwise.
    """
    if not 0 < len(arguments.text) <= MAX_SAID:
        sentence = f"A text has 1 to {MAX_SAID} characters, not {len(arguments.text)}."
        raise RefusalError(SkillCode.WRONG_ARGUMENTS, sentence)


def second_is_another(attempt: Attempt, arguments: Arguments) -> None:  # noqa: ARG001
    """The second entity is not the first one.

    Raises:
        RefusalError: otherwise.
    """
    if len(arguments.entities) > 1 and arguments.entities[0].name == arguments.entities[1].name:
        sentence = f"{arguments.entities[0].name} cannot be guided to itself."
        raise RefusalError(SkillCode.WRONG_ARGUMENTS, sentence)
