"""What a skill that succeeded did to the world, for cameras may miss it (PARTNR-5.3).

A failure changes nothing, but a hand may have closed or opened all the same (`felt`). Agents and
floors are no entities of the list: what is about them is left out, except as parents.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from planner.memory.camera import support_of, surface_point
from planner.memory.entity_list import EntityList
from planner.memory.updater import Facts, Operation
from planner.memory.wording import PICKED, PLACED, class_words, describe
from planner.parts.calls import SKILLS, parse_call
from planner.world.belief import Entity, OperationKind
from planner.world.catalogue import default_catalogue, has_slices
from planner.world.geometry import Vec3
from planner.world.house import House
from planner.world.memory_wire import result_record, stamp_seconds
from planner.world.primitive import Change, read_changes
from planner.world.skill import (
    AsReported,
    Divided,
    HeldStateSet,
    NameLearned,
    OpenedTo,
    PickedUp,
    PutDown,
    SkillCall,
    SkillEffect,
    SkillResult,
    StateSet,
    StatesPoured,
)
from planner.world.states import default_states
from planner.world.vocabulary import Hand, Relation, floor_name, hand_holding, held_things


def effects(
    agent: str,
    call: SkillCall,
    result: SkillResult,
    entities: EntityList,
    layout: House,
    near_m: Vec3 | None = None,
) -> list[Operation]:
    """The operations that a call's end calls for; none after a failure or for an unknown name.

    Args:
        agent: who called.
        call: what was called.
        result: how it ended.
        entities: the memory's list.
        layout: of the house.
        near_m: where the agent is, for names that are not the memory's own, such as a
            partner's: they mean the nearest thing of their class, or where none is known the
            nearest of any (PARTNR-5.3). None: such names mean nothing.

    Raises:
        FileError: if the result's evidence reports changes that cannot be read.
    """
    part = SKILLS.find(call.name)
    if not result.succeeded or part is None:
        return []
    done = _Call(agent, call, result, entities, layout, near_m)
    found = [operation for effect in part.effects for operation in _operations(effect, done)]
    gone = {o.entity_id for o in found if o.kind is OperationKind.REMOVE}
    # Of several states of one thing, the last operation has them all.
    updates = (o for o in found if o.kind is OperationKind.UPDATE and o.entity_id not in gone)
    last = {o.entity_id: o for o in updates}
    removed = [o for o in found if o.kind is OperationKind.REMOVE]
    added = [o for o in found if o.kind is OperationKind.ADD]
    return [*removed, *last.values(), *added]


def felt(
    agent: str,
    result: SkillResult,
    entities: EntityList,
    layout: House,
    base_m: Vec3 | None,
    done: Collection[int | None] = (),
) -> list[Operation]:
    """The operations by which what an agent holds agrees with what its result says of its hands.

    Nothing for a result that does not know, or that names what the memory does not.

    Args:
        agent: whose hands.
        result: of its call.
        entities: the memory's list.
        layout: of the house.
        base_m: where the agent stands: what its hand lost is on the floor there, unless the result
            says where. None: it stays where it was last known.
        done: entities of which other operations say where they are.
    """
    hands = result.hands or ()
    found = {name: entities.find(name) for name in held_things(hands)}
    if not hands or None in found.values():
        return []
    names = {thing.entity_id: name for name, thing in found.items() if thing is not None}
    operations = []
    for entity in entities.entities:
        held = entity.picked and entity.parent == agent
        if entity.is_furniture or entity.entity_id in done or held is (entity.entity_id in names):
            continue
        if not held:
            hand = hand_holding(hands, names[entity.entity_id])
            operations.append(_taken(entity, agent, hand))
            continue
        where = result.position_m or base_m or entity.position_m
        openness = {e.name: e.openness for e in entities.entities if e.openness is not None}
        on = support_of(layout, where, None, openness)
        piece = entities.named(on.parent) if on.parent is not None else None
        number = piece.entity_id if piece is not None else None
        room = piece.room if piece is not None else on.room
        text = f"{describe(entity.class_name, entity.states, '', number)} {PLACED}"
        states = entity.states
        operations.append(_update(entity, text, where, on.parent, on.relation, room, states))
    return operations


def _operations(effect: SkillEffect, done: _Call) -> list[Operation]:
    match effect:
        case PickedUp(index):
            return _picked(done, index)
        case PutDown():
            return _put_down(done, effect)
        case OpenedTo(openness, index):
            piece = done.argument(index)
            if piece is None or not piece.is_furniture:
                return []
            return [_furniture(piece, piece.states, openness)]
        case StateSet(state, value, index):
            entity = done.thing(index)
            return [] if entity is None else [_changed(done, entity, {state: value})]
        case HeldStateSet(state, value):
            # What was poured into may be held as well.
            held = done.held_but(done.thing(0))
            source = next((e for e in held if e.states.get(state, value) is not value), None)
            return [_changed(done, source or held[0], {state: value})] if held else []
        case StatesPoured(states, index):
            entity = done.thing(index)
            if entity is None:
                return []
            full = ({s: True for s in states if e.states.get(s)} for e in done.held_but(entity))
            poured = next(filter(None, full), None)
            return [_changed(done, entity, poured)] if poured else []
        case Divided(index):
            entity = done.thing(index)
            if entity is None or not has_slices(entity.class_name):
                return []
            removed = Operation(OperationKind.REMOVE, entity_id=entity.entity_id)
            # A memory that has the true names learns them when it sees the slices.
            return [removed, *(_slices(done, entity) if entity.is_named_by_memory else ())]
        case NameLearned(index):
            return _named(done, index)
        case AsReported():
            return list(_reported(done))


class _Call:
    """A skill call that succeeded, with what it is looked up in."""

    def __init__(
        self,
        agent: str,
        call: SkillCall,
        result: SkillResult,
        entities: EntityList,
        layout: House,
        near_m: Vec3 | None,
    ) -> None:
        self.near_m = near_m
        # Those of an entity that an earlier effect of the call changed.
        self.states: dict[int, Mapping[str, bool]] = {}
        self.agent = agent
        self.call = call
        self.position_m, self.hands = result.position_m, result.hands or ()
        self.evidence = result.evidence
        self.entities = entities
        self.layout = layout

    def argument(self, index: int) -> Entity | None:
        """The entity of an argument."""
        word = self.call.arguments[index] if index < len(self.call.arguments) else None
        return self.entities.find(word) if word is not None else None

    def thing(self, index: int) -> Entity | None:
        """The entity of an argument that is a thing, also by a name that another gave it."""
        found = self.argument(index)
        word = self.call.arguments[index] if index < len(self.call.arguments) else None
        if found is not None or word is None or self.near_m is None:
            return found
        near_m, class_name = self.near_m, word.rpartition("_")[0]
        within_reach = [
            (0.0 if entity.picked else math.dist(entity.position_m, near_m), entity.entity_id)
            for entity in self.entities.entities
            if not entity.is_furniture and (not entity.picked or entity.parent == self.agent)
        ]
        alike = [item for item in within_reach if self._class(item[1]) == class_name]
        nearest = min(alike or within_reach, default=None)
        return self.entities.get(nearest[1]) if nearest is not None else None

    def _class(self, number: int) -> str:
        entity = self.entities.get(number)
        return entity.class_name if entity is not None else ""

    @property
    def held(self) -> list[Entity]:
        """What the agent is believed to hold, the right hand's first."""
        mine = [e for e in self.entities.entities if e.picked and e.parent == self.agent]
        return sorted(mine, key=lambda entity: entity.hand is Hand.LEFT)

    def held_but(self, target: Entity | None) -> list[Entity]:
        """What the agent is believed to hold besides the target."""
        return [entity for entity in self.held if entity is not target]


def _picked(done: _Call, index: int) -> list[Operation]:
    thing = done.thing(index)
    if thing is None or thing.is_furniture:
        return []
    return [_taken(thing, done.agent, hand_holding(done.hands, done.call.arguments[index] or ""))]


def _taken(thing: Entity, agent: str, hand: Hand | None) -> Operation:
    """A thing is in an agent's hand; None = in which one is not known."""
    text = f"{describe(thing.class_name, thing.states)} {PICKED}"
    taken = _update(thing, text, thing.position_m, agent, Relation.HELD, None, thing.states)
    return replace(taken, facts=None if taken.facts is None else replace(taken.facts, hand=hand))


def _put_down(done: _Call, effect: PutDown) -> list[Operation]:
    thing = done.argument(effect.thing) or next(iter(done.held), None) or done.thing(effect.thing)
    if thing is None or thing.is_furniture:
        return []
    target = done.argument(effect.furniture)
    piece = done.layout.furniture_by_name.get(target.name) if target is not None else None
    told = done.position_m
    if effect.relation is not None:
        within = done.call.arguments[effect.relation] == Relation.WITHIN
    else:
        within = _is_within(done.layout, told, target)
    relation = Relation.WITHIN if within else Relation.ON
    room: str | None
    if target is not None and (piece is not None or not target.is_furniture):
        where = told or (target.position_m if piece is None else surface_point(piece, relation))
        text = describe(thing.class_name, thing.states, "", target.entity_id)
        parent, room = target.name, target.room
    else:
        floor = _floor(done.layout, done.call.arguments[effect.furniture] or "")
        if floor is None:
            return []
        parent, room, middle = floor
        where, text = told or middle, describe(thing.class_name, thing.states)
    placed = _update(thing, f"{text} {PLACED}", where, parent, relation, room, thing.states)
    return [placed, *_brought_along(done, thing, where, room)]


def _brought_along(
    done: _Call, holder: Entity, where: Vec3, room: str | None
) -> Iterator[Operation]:
    """What is in or on a thing is where it was put; how far off its middle is not known."""
    waiting, seen = [holder.name], {holder.name}
    while waiting:
        parent = waiting.pop()
        for entity in done.entities.entities:
            if entity.parent == parent and not entity.is_furniture and entity.name not in seen:
                seen.add(entity.name)
                waiting.append(entity.name)
                yield _update(
                    entity,
                    entity.description,
                    where,
                    entity.parent,
                    entity.relation,
                    room,
                    entity.states,
                )


def _slices(done: _Call, whole: Entity) -> Iterator[Operation]:
    """What a thing became, all at its place: which way it lay is not known."""
    objects = default_catalogue().objects
    slices = objects[whole.class_name].slices
    if slices is None:
        return
    cls = objects[slices.class_name]
    states = default_states().initial(cls.affordances, whole.states, cls.states)
    support = done.entities.named(whole.parent) if whole.parent is not None else None
    number = support.entity_id if support is not None and not whole.picked else None
    depth, width, height = whole.size_m
    facts = Facts(
        cls.name,
        (depth / slices.count, width, height),
        whole.parent,
        whole.relation,
        whole.room,
        states,
        look=whole.look,
    )
    for _ in range(slices.count):
        yield Operation(
            OperationKind.ADD,
            description=describe(cls.name, states, "", number),
            position_m=whole.position_m,
            facts=facts,
        )


def _named(done: _Call, index: int) -> list[Operation]:
    """The name that a person told."""
    entity, name = done.argument(index), done.evidence.get("name", "")
    if entity is None or entity.person is None or not name:
        return []
    person = replace(entity.person, name=name)
    told = _with_states(done, entity, entity.states)
    support = done.entities.named(entity.parent or "")
    number = support.entity_id if support is not None else None
    text = describe(class_words(entity.class_name, person), entity.states, "", number)
    facts = None if told.facts is None else replace(told.facts, person=person)
    return [replace(told, description=text, facts=facts)]


def _reported(done: _Call) -> Iterator[Operation]:
    """What the world says; what the memory does not know by that name is left out."""
    for name, change in read_changes(done.evidence).items():
        entity = done.entities.named(name)
        if entity is None:
            continue
        states = entity.states if change.states is None else change.states
        if change.parent:
            yield _moved(done, entity, change, states)
        else:
            yield _with_states(done, entity, states)


def _moved(done: _Call, thing: Entity, change: Change, states: Mapping[str, bool]) -> Operation:
    support = done.entities.named(change.parent)
    is_held = change.relation is Relation.HELD
    number = support.entity_id if support is not None and not is_held else None
    text = describe(class_words(thing.class_name, thing.person), states, "", number)
    where = change.position_m or thing.position_m
    room = None if is_held or support is None else support.room
    text = f"{text} {PICKED if is_held else PLACED}"
    return _update(thing, text, where, change.parent, change.relation, room, states)


def _is_within(layout: House, point_m: Vec3 | None, target: Entity | None) -> bool:
    """Whether what was put down is inside the furniture, by where it is."""
    if point_m is None or target is None:
        return False
    openness = {target.name: target.openness or 0.0}
    return support_of(layout, point_m, target.name, openness).relation is Relation.WITHIN


def _floor(layout: House, word: str) -> tuple[str, str, Vec3] | None:
    """A floor's name, its room and a point on it."""
    for room in layout.rooms:
        if word.lower() in (floor_name(room.name), room.name):
            inside = room.shape.representative_point()
            return floor_name(room.name), room.name, (float(inside.x), float(inside.y), 0.0)
    return None


def _changed(done: _Call, entity: Entity, changes: Mapping[str, bool]) -> Operation:
    states = done.states.get(entity.entity_id, entity.states)
    for state, value in changes.items():
        states = default_states().changed(states, state, value=value)
    done.states[entity.entity_id] = states
    return _with_states(done, entity, states)


def _with_states(done: _Call, entity: Entity, states: Mapping[str, bool]) -> Operation:
    if entity.is_furniture:
        return _furniture(entity, states, entity.openness)
    support = done.entities.named(entity.parent) if entity.parent is not None else None
    number = support.entity_id if support is not None and not entity.picked else None
    text = describe(class_words(entity.class_name, entity.person), states, "", number)
    where = entity.position_m
    return _update(entity, text, where, entity.parent, entity.relation, entity.room, states)


def _furniture(piece: Entity, states: Mapping[str, bool], openness: float | None) -> Operation:
    facts = Facts(piece.class_name, piece.size_m, piece.parent, None, piece.room, states, openness)
    word = "" if openness is None else ("open" if openness >= 0.5 else "closed")
    return Operation(
        OperationKind.UPDATE,
        entity_id=piece.entity_id,
        description=describe(piece.class_name, states, word),
        position_m=piece.position_m,
        facts=facts,
    )


def _update(
    thing: Entity,
    text: str,
    where: Vec3,
    parent: str | None,
    relation: Relation | None,
    room: str | None,
    states: Mapping[str, bool],
) -> Operation:
    return Operation(
        OperationKind.UPDATE,
        entity_id=thing.entity_id,
        description=text,
        position_m=where,
        facts=Facts(thing.class_name, thing.size_m, parent, relation, room, states),
    )


# How a skill ended, from planner_msgs' messages, live or from a bag; nothing here needs ROS.


def report_record(message: Any) -> tuple[str, SkillCall, SkillResult, float]:
    """What a planner_msgs/SkillReport tells: agent, call, result and when it ended, seconds.

    Raises:
        CallError: where the call is none.
        ValueError: for a code that is none.
    """
    result = result_record(message)
    return message.agent, parse_call(message.call), result, stamp_seconds(message.header.stamp)
