"""What is said after a task and refers to it: "and the bowls too", "put it back", "come back"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pydantic import JsonValue

from planner.conversation.changes import Change, Changed, Doubt, changed, text_of
from planner.conversation.journal import Journal
from planner.conversation.slots import (
    ONES,
    PREPOSITION,
    Role,
    is_furniture,
    is_room,
    phrases_in,
    place_in,
    places_of,
    put_in,
    rebuilt,
    slots,
    things_of,
)
from planner.conversation.utterances import Kind, utterance_of
from planner.grounding.records import request_words
from planner.language.goal_form import (
    Description,
    Find,
    Form,
    Goal,
    Make,
    Mention,
    Move,
    Place,
    Request,
)
from planner.language.interpretation import interpret
from planner.language.lexicon import Relation
from planner.world.belief import Belief
from planner.world.vocabulary import EntityKind

# What is asked for in addition to a goal, and a goal again with something else.

# More of the same, and the same again with something else.

_SAME = re.compile(
    r"^(?:(?:and |now |then |please )*)?(?:do )?(?:the same|the same thing|likewise|that|it)"
    r"(?: again| too| also)? (?P<how>in|on|at|with|for|to) (?P<what>.+?)(?: too| as well| also)?$"
)
_CARRY = re.compile(r"^(?:please )?(?:take|bring|get|fetch|grab)\s+(?!me\b)")
_AGAIN = re.compile(
    r"^(?:(?:and|now|please) )*(?:(?:do )?(?:it|that|the same)(?: thing)? (?:all over )?again"
    r"|once more"
    r"|one more time|again|do (?:it|that) once more|repeat (?:it|that)|the same again)$"
)


def added(goal: Goal, said: str) -> Goal | Doubt | None:
    """Only what is asked for in addition: "the bowls", "bring the book", "in the bathroom".

    Returns:
        None if it is not understood.
    """
    words = " ".join(said.lower().split()).strip(" .!?,")
    bare = _CARRY.sub("", words)
    found: dict[str, tuple[str, Changed]] = {}
    for request in goal.requests:
        # "And the plate": what was asked for with others, with all that differs.
        kinds = [t.kind for t in things_of(request) if isinstance(t, Description)]
        things = phrases_in(bare, kinds[0] if kinds and ONES.search(bare) else "")
        if isinstance(request, Move | Make | Find) and things and _are_like(things, kinds):
            more = request.model_copy(update={"things": things})
            alone = _alone(more, goal)
            if alone is not None:
                found.setdefault(request_words(more), (request_words(more), Changed(alone)))
    if found and (len(found) == 1 or bare == words):
        options = tuple(found.values())
        return options[0][1].goal if len(options) == 1 else Doubt(options)
    reading = interpret(said)
    if isinstance(reading, Goal):
        return reading
    whole = interpret(f"{text_of(goal)} {said[:1].upper()}{said[1:]}")
    first = len(goal.requests)
    if isinstance(whole, Goal) and whole.requests[:first] == goal.requests:
        return rebuilt(whole, [None] * first + list(whole.requests[first:]))
    return repeated(goal, f"the same {words}") if PREPOSITION.match(words) else None


def _are_like(things: Iterable[Description], kinds: Sequence[str]) -> bool:
    """Whether things are rooms, furniture or things that are carried as those of kinds are."""
    others = [Description(kind=kind) for kind in kinds]
    return all(
        any(is_room(one) is is_room(k) and is_furniture(one) is is_furniture(k) for k in others)
        for one in things
    )


def _alone(request: Request, goal: Goal) -> Goal | None:
    """One request, its mentions written out; None if that is not possible."""
    known = {
        phrase.label: phrase
        for phrase in goal.phrases()
        if isinstance(phrase, Description) and phrase.label
    }
    to = tuple(
        place.model_copy(
            update={"anchor": known[place.anchor.label].model_copy(update={"label": None})}
        )
        if isinstance(place.anchor, Mention) and place.anchor.label in known
        else place
        for place in places_of(request)
    )
    update = {"to": to} if to else {}
    try:
        return Goal(steps=((request.model_copy(update=update),),))
    except ValueError:
        return None


def joined(goal: Goal, more: Goal, *, then: bool = False) -> Goal | None:
    """Both; with `then`, the second after the first is done. Its labels are kept apart."""
    taken = {p.label for p in goal.phrases() if isinstance(p, Description) and p.label}
    names = {
        p.label: f"{p.label}_{k}"
        for k, p in enumerate(more.phrases(), start=2)
        if isinstance(p, Description) and p.label in taken
    }
    more = _relabelled(more, names) if names else more
    first = more.steps[0] if more.steps and not then else ()
    rest = more.steps if then else more.steps[1:]
    steps = (*goal.steps[:-1], (*(goal.steps[-1] if goal.steps else ()), *first), *rest)
    any_time = (*goal.any_time, *more.any_time)
    try:
        return Goal(steps=tuple(step for step in steps if step), any_time=any_time)
    except ValueError:
        return None


_FormT = TypeVar("_FormT", bound=Form)


def _relabelled(form: _FormT, names: Mapping[str, str]) -> _FormT:
    """A record with other labels."""

    def value_of(field: str, value: object) -> object:
        if isinstance(value, Form):
            return _relabelled(value, names)
        if isinstance(value, tuple):
            return tuple(value_of(field, item) for item in value)
        is_label = field in ("label", "other_than") and isinstance(value, str)
        return names.get(value, value) if is_label and isinstance(value, str) else value

    fields = type(form).model_fields
    return form.model_copy(update={name: value_of(name, getattr(form, name)) for name in fields})


def repeated(goal: Goal, said: str) -> Goal | Doubt | None:
    """The same again: "again", "the same in the bathroom", "the same with the cups"."""
    words = " ".join(said.lower().split()).strip(" .!?,")
    if _AGAIN.match(words):
        return goal
    match = _SAME.match(words)
    if match is None:
        return None
    what = match["what"]
    place = place_in(f"in {what}") if match["how"] in ("in", "on", "at", "for", "to") else None
    if place is not None and isinstance(place.anchor, Description) and is_room(place.anchor):
        return _in_room(goal, place.anchor)
    # "For the books": with these, not in them.
    change = Change(goal).choose(what, [s for s in slots(goal) if s.role is Role.THING])
    if isinstance(change, Doubt):
        return change
    return change.goal if change is not None else None


def _in_room(goal: Goal, room: Description) -> Goal | None:
    """The goal in another room: its rooms are replaced, or else it is said of its things."""
    found: Goal | None = goal
    rooms = [slot for slot in slots(goal) if is_room(slot.phrase)]
    for slot in rooms:
        found = found and put_in(found, slot, room)
    if rooms:
        return found
    within = Place(relation=Relation.IN, anchor=room)
    for slot in slots(goal):
        is_last = slot.role is Role.TO or not places_of(goal.requests[slot.request])
        if slot.role in (Role.THING, Role.TO) and (is_last or not slot.phrase.where):
            there = slot.phrase.model_copy(update={"where": (*slot.phrase.where, within)})
            found = found and put_in(found, slot, there)
    return found


_BEFORE = (
    r"^(?:(?:ok|okay|now|please|and|robot|no|sorry|oops|then|actually|could you|can you)[ ,]+)*"
)
_POLITE = re.compile(r"([ ,]+(please|thanks|thank you|now))+$")
_UNDO = re.compile(
    _BEFORE + r"(?:undo(?: (?:it|that|this|everything|all(?: of (?:it|that))?|what you did))?"
    r"|reverse (?:it|that)"
    r"|(?:put|make) (?:it|that|everything) (?:(?:all )?(?:back )?as it was|like before|as before)"
    r"|take (?:it|that) back|revert(?: (?:it|that))?)$"
)
_BACK = re.compile(
    _BEFORE + r"(?:put|bring|take|carry|move) (?P<what>it|that|this|them|those|these|everything"
    r"|all(?: of (?:it|them|that))?|all that) back(?: (?:again|there|please"
    r"|to (?:its|their|the old) places?"
    r"|where (?:it|they) (?:was|were|belongs?|came from)(?: before)?|where you (?:took|got|found)"
    r" (?:it|them)(?: from)?))*$"
)
_RETURN = re.compile(
    _BEFORE
    + r"(?:come back|return|go back|walk back|get back)(?: (?:now|again|here|to me|then|please"
    r"|to where you (?:were|came from|started)(?: before)?|to your place|to the start))*$"
)


@dataclass(frozen=True, slots=True)
class Past:
    """The task before.

    Attributes:
        goal: None if it was known to its planner alone.
        room: in which its first agent was when it began; "" if that was not known.
    """

    goal: Goal | None
    journal: Journal
    room: str = ""


@dataclass(frozen=True, slots=True)
class Meant:
    """A task by what it refers to.

    Attributes:
        goal: what the text means; None = as it is read.
        evaluation: the goal in names, as an episode's; None = by words.
    """

    text: str
    goal: Goal | None = None
    evaluation: Mapping[str, JsonValue] | None = None


NOTHING_BACK = "nothing was done: nothing was moved before that could be put back"


def meant_after(past: Past, said: str, belief: Belief) -> Meant | Doubt | str | None:
    """What a text means after a task; why it cannot be, as a sentence; None if it is by itself."""
    words = _POLITE.sub("", " ".join(said.lower().split()).strip(" .!?"))
    if _UNDO.match(words) or (back := _BACK.match(words)):
        one = not _UNDO.match(words) and back is not None and back["what"] in ("it", "that", "this")
        names = {past.journal.latest} if one else None
        evaluation = past.journal.put_back(names)
        return NOTHING_BACK if evaluation is None else Meant(said, evaluation=evaluation)
    if _RETURN.match(words):
        return Meant(_way_back(past, belief)) if past.room else None
    if past.goal is None:
        return None
    utterance = utterance_of(said)
    found: Goal | Doubt | None = None
    if utterance.kind is Kind.ADD:
        found = added(past.goal, utterance.rest)
    elif not isinstance(interpret(said), Goal):
        found = repeated(past.goal, said)
        if found is None and utterance.kind in (Kind.CHANGE, Kind.OTHER):
            change = changed(past.goal, utterance.rest)
            found = change if isinstance(change, Doubt) or change is None else change.goal
    if found is None or isinstance(found, Doubt):
        return found
    return Meant(text_of(found), found)


def room_of(belief: Belief, agent: str) -> str:
    """The room in which an agent is; "" if that is not known."""
    node = belief.nodes.get(agent)
    return (node.room or "") if node is not None else ""


def _way_back(past: Past, belief: Belief) -> str:
    """To a person, if one is known, or else to where the task began."""
    persons = [n for n in belief.of_kind(EntityKind.AGENT) if n.class_name in ("human", "person")]
    if persons:
        return "Come here."
    return f"Go to the {past.room.rpartition('_')[0].replace('_', ' ')}."
