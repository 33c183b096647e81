"""Whether the entities of an evaluation support its predicates, and what is not intended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from planner.evaluation.progress import Progress
from planner.evaluation.task import (
    ANYWHERE,
    Evaluation,
    GateRelation,
    Predicate,
    Proposition,
    asked_open,
    asked_state,
    is_about_person,
    lists_of,
)
from planner.world.catalogue import Catalogue, default_catalogue, slice_names
from planner.world.episode import Episode
from planner.world.errors import FileError
from planner.world.graph_file import label
from planner.world.graph_house import affordances_of
from planner.world.house import House
from planner.world.person import person_name
from planner.world.receptacle import known_shape
from planner.world.state import EntityState, WorldState
from planner.world.states import default_states
from planner.world.vocabulary import Affordance, EntityKind, floor_name


@dataclass(frozen=True, slots=True)
class EntityFacts:
    """Constant properties of an entity; `hollow`: things can be inside it."""

    kind: EntityKind
    affordances: frozenset[str] = frozenset()
    hollow: bool = False
    floor: bool = False
    person: bool = False


_FLOOR = EntityFacts(EntityKind.FURNITURE, floor=True)


def facts_of_state(state: WorldState, house: House) -> dict[str, EntityFacts]:
    """The facts of a running world; floors are furniture of the house's layout."""
    facts = {floor_name(room.name): _FLOOR for room in house.rooms}
    for name, entity in state.entities.items():
        facts[name] = EntityFacts(
            entity.kind,
            frozenset(entity.affordances),
            _is_hollow(house, entity),
            person=entity.person is not None,
        )
        if entity.kind is EntityKind.OBJECT:
            facts |= _slices(name, entity.class_name, default_catalogue())
    return facts


def _slices(name: str, class_name: str, catalogue: Catalogue) -> dict[str, EntityFacts]:
    """What a thing can become; a goal may be about it before it is there."""
    cls = catalogue.objects.get(class_name)
    if cls is None or cls.slices is None:
        return {}
    can = frozenset(catalogue.objects[cls.slices.class_name].affordances)
    return {each: EntityFacts(EntityKind.OBJECT, can) for each in slice_names(name, cls.slices)}


def facts_of_episode(
    episode: Episode, house: House, catalogue: Catalogue
) -> dict[str, EntityFacts]:
    """The facts of an episode file; unknown classes have no affordances."""
    facts = {floor_name(room.name): _FLOOR for room in house.rooms}
    facts.update((room.name, EntityFacts(EntityKind.ROOM)) for room in house.rooms)
    for piece in house.furniture:
        facts[piece.name] = EntityFacts(
            EntityKind.FURNITURE, frozenset(piece.affordances), bool(piece.interiors)
        )
    if house.graph is not None:
        things = {item.name for item in house.objects}
        # Its things are there whatever the episode places, by classes of their own.
        for node in house.graph.nodes:
            if label(node) in things:
                facts[label(node)] = EntityFacts(
                    EntityKind.OBJECT, frozenset(affordances_of(node)), hollow=True
                )
    for item in episode.objects:
        if item.name in facts:
            continue
        cls = catalogue.objects.get(item.class_name)
        can = frozenset(cls.affordances if cls else ())
        hollow = cls is not None and cls.hollow is not None
        facts[item.name] = EntityFacts(EntityKind.OBJECT, can, hollow)
        facts |= _slices(item.name, item.class_name, catalogue)
    person = EntityFacts(EntityKind.OBJECT, person=True)
    facts.update((person_name(number), person) for number in range(len(episode.people)))
    facts.update((agent.uid, EntityFacts(EntityKind.AGENT)) for agent in episode.agents)
    return facts


def _is_hollow(house: House, entity: EntityState) -> bool:
    if entity.kind is EntityKind.OBJECT and house.graph is None:
        return known_shape(entity.class_name, entity.size_m).hollow is not None
    piece = house.furniture_by_name.get(entity.name)
    if piece is None:
        # It is unknown what is inside perceived furniture; edges put things inside things.
        return entity.kind is EntityKind.FURNITURE or house.graph is not None
    return bool(piece.interiors)


def check_entities(
    evaluation: Evaluation,
    facts: Mapping[str, EntityFacts],
    source: Path | str,
    *,
    all_known: bool = True,
) -> None:
    """Refuses an evaluation with missing or unsuitable entities.

    Args:
        evaluation: from `language.read_evaluation`.
        facts: of every entity in the world, by name.
        source: file name for the error.
        all_known: whether entities without facts do not exist; in a world that is only perceived
            they may be found later.

    Raises:
        FileError: with file, field of the proposition, and reason.
    """
    for where, reason in entity_findings(evaluation, facts, all_known=all_known):
        raise FileError(source, f"evaluation.{where}", reason)


def entity_findings(
    evaluation: Evaluation, facts: Mapping[str, EntityFacts], *, all_known: bool = True
) -> Iterator[tuple[str, str]]:
    """All problems with the named entities, as (field, reason)."""
    for i, proposition in enumerate(evaluation.propositions):
        for k, names in enumerate(proposition.lists):
            where = f"propositions.{i}.args.{_list_field(proposition, k)}"
            if where.endswith(".texts"):
                continue
            for name in names:
                if name == ANYWHERE:
                    continue
                fact = facts.get(name)
                if fact is None:
                    if all_known:
                        yield where, f"there is no entity {name!r}"
                    continue
                reason = _unfit(proposition.predicate, k, name, fact)
                if reason:
                    yield where, reason


def _list_field(proposition: Proposition, k: int) -> str:
    if proposition.predicate is Predicate.IS_CLUSTERED:
        return f"entities.{k}"
    return proposition.argument_names[k]


def _unfit(predicate: str, k: int, name: str, fact: EntityFacts) -> str:
    """Why an entity cannot be argument k of a predicate; "" if it can."""
    if is_about_person(predicate):
        return _unfit_for_person(lists_of(predicate)[k], name, fact)
    if predicate is Predicate.IS_IN_ROOM and k == 1:
        return "" if fact.kind is EntityKind.ROOM else f"{name} is not a room"
    if fact.kind not in (EntityKind.OBJECT, EntityKind.FURNITURE):
        return f"{name} is {_KIND_WORDS[fact.kind]}, not an object or a piece of furniture"
    if predicate is Predicate.IS_ON_TOP and k == 1:
        return ""
    if fact.floor:
        return f"{name} is a floor, which only is_on_top takes, as its receptacle"
    if predicate is Predicate.IS_INSIDE and k == 1 and not fact.hollow:
        return f"{name} has no inside"
    if asked_open(predicate) is not None and Affordance.OPENABLE not in fact.affordances:
        return f"{name} cannot be opened"
    asked = asked_state(predicate)
    if asked is not None:
        affordance = default_states().affordance_of[asked[0]]
        if affordance not in fact.affordances:
            return f"{name} is not {affordance}"
    return ""


def _unfit_for_person(field: str, name: str, fact: EntityFacts) -> str:
    """The same of a predicate about persons, by the list's name."""
    if field == "persons":
        return "" if fact.person else f"{name} is not a person"
    if field == "agents":
        return "" if fact.kind is EntityKind.AGENT else f"{name} is not an agent"
    if field == "objects":
        movable = fact.kind is EntityKind.OBJECT and not fact.person
        return "" if movable else f"{name} is not an object"
    placed = fact.person or fact.kind in (EntityKind.ROOM, EntityKind.FURNITURE)
    return "" if placed and not fact.floor else f"{name} is not a room, furniture or a person"


_KIND_WORDS = {EntityKind.ROOM: "a room", EntityKind.AGENT: "an agent"}


# Evaluations that are valid but probably not intended (PARTNR-D30 v to vii).

# With different second arguments these cannot hold for one object at the same time.
_ONE_PLACE = frozenset({Predicate.IS_ON_TOP, Predicate.IS_INSIDE, Predicate.IS_IN_ROOM})
_AFTER = frozenset({GateRelation.AFTER_SATISFIED, GateRelation.AFTER_UNSATISFIED})


def goal_warnings(evaluation: Evaluation, start: Progress) -> list[tuple[str, str]]:
    """The warnings, as (field, reason).

    Args:
        evaluation: a valid one.
        start: `Evaluator.progress` of the initial state, mode strict.
    """
    found = [*_lost_heads(evaluation), *_true_too_early(evaluation, start)]
    if start.success:
        found.append(("propositions", "everything is satisfied already at the start"))
    return found


def _lost_heads(evaluation: Evaluation) -> Iterator[tuple[str, str]]:
    for k, dependency in enumerate(evaluation.dependencies):
        if dependency.relation is not GateRelation.WHILE_SATISFIED:
            continue
        for head in dependency.depends_on:
            if head in evaluation.terminal:
                continue
            for gated in dependency.gated:
                if gated in evaluation.terminal:
                    reason = (
                        f"proposition {gated} has to hold at the end, while {head}, which it "
                        "needs, need not: it fails once that is undone"
                    )
                    yield f"dependencies.{k}", reason


def _true_too_early(evaluation: Evaluation, start: Progress) -> Iterator[tuple[str, str]]:
    gated = {
        index
        for dependency in evaluation.dependencies
        if dependency.relation in _AFTER
        for index in dependency.gated
    }
    later = {second for _, second in evaluation.edges}
    for j, second in enumerate(evaluation.propositions):
        if j in gated or not start.propositions[j].holds:
            continue
        for i, first in enumerate(evaluation.propositions):
            comes_later = (i, j) in evaluation.edges or (i < j and j not in later)
            if i != j and comes_later and _moves_on(first, second):
                reason = (
                    f"is true at the start, before proposition {i} about the same object; it "
                    "needs a dependency after_satisfied on that one"
                )
                yield f"propositions.{j}", reason
                break


def _moves_on(first: Proposition, second: Proposition) -> bool:
    """Whether both place the same object, but at different places."""
    if first.predicate not in _ONE_PLACE or second.predicate not in _ONE_PLACE:
        return False
    shares = bool(set(first.lists[0]) & set(second.lists[0]))
    return shares and not set(first.lists[1]) & set(second.lists[1])
