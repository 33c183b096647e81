"""ET-Plan-Bench's plans as calls, its criteria as an evaluation, and both in scene graphs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue, ValidationError

from papers.et_plan_bench.published.file import (
    FLOOR,
    PUTS,
    STRUCTURE,
    EtStep,
    EtTask,
    EtTriple,
    asked_relation,
    is_brought_about,
    split_criteria,
)
from planner.episodes.lint.goal import task_types
from planner.evaluation.language import read_evaluation
from planner.parts.calls import parse_call
from planner.world.episode import ROBOT, AgentPlacement, Criteria, Episode, FurnitureChange, Source
from planner.world.errors import FileError, from_validation
from planner.world.graph_file import word_of
from planner.world.house import House, ObjectPlacement
from planner.world.receptacle import part_by_word
from planner.world.skill import SkillCall, SkillName
from planner.world.vocabulary import AgentKind, Relation, floor_name

# ET-Plan-Bench's reference plans as skill calls, for comparison with what was done.

# VirtualHome's verbs (ETPLAN-3.1).
_SKILLS = {
    "WALK": SkillName.NAVIGATE,
    "GRAB": SkillName.PICK,
    "OPEN": SkillName.OPEN,
    "CLOSE": SkillName.CLOSE,
}
# Looking around is not an action (ETPLAN-1.4).
_TURNS = frozenset({"TURNRIGHT", "TURNLEFT"})


def plan_calls(
    task: EtTask, house: House, name_of: Callable[[str, int], str | None]
) -> tuple[str, ...]:
    """A task's plan as calls in a house; none at all if a step has no corresponding call.

    The criteria determine whether a thing goes on or within a place; if they do not, the verb does;
    things go on what has no hollow, and into what has no top. What does not open here is left
    as it is.

    Args:
        task: with the data set's own plan.
        house: the episode's.
        name_of: our name for an entity of the data set, given as a word and a number.
    """
    calls = [
        _call(task, house, step, name_of)
        for step in task.plan
        if step.verb not in _TURNS and not _opens_nothing(house, step, name_of)
    ]
    return () if None in calls else tuple(str(call) for call in calls)


def _opens_nothing(house: House, step: EtStep, name_of: Callable[[str, int], str | None]) -> bool:
    if step.verb not in ("OPEN", "CLOSE") or house.graph is not None:
        return False
    pieces = [house.furniture_by_name.get(name_of(w, n) or "") for w, n in step.arguments]
    return not any(piece is not None and piece.joints for piece in pieces)


def _call(
    task: EtTask, house: House, step: EtStep, name_of: Callable[[str, int], str | None]
) -> SkillCall | None:
    names = [name_of(word, number) for word, number in step.arguments]
    if None in names or len(names) != (2 if step.verb in PUTS else 1):
        return None
    if step.verb not in PUTS:
        return SkillCall(_SKILLS[step.verb], tuple(names)) if step.verb in _SKILLS else None
    (thing, _), (place, _) = step.arguments
    asked = asked_relation(task, thing, place)
    within = asked == "INSIDE" or (not asked and step.verb == "PUTIN")
    piece, name = house.furniture_by_name.get(names[1] or ""), (names[1] or "").rpartition("_")[0]
    if piece is not None:
        within = bool(piece.interiors) and (within or not piece.surfaces)
    elif house.graph is None:
        hollow, top = (part_by_word(name, each) for each in (Relation.WITHIN, Relation.ON))
        within = hollow is not None and (within or top is None)
    relation = "within" if within else "on"
    return SkillCall(SkillName.PLACE, (names[0], relation, names[1], None, None))


def open_at_start(
    calls: Sequence[str], placed: Iterable[ObjectPlacement], house: House
) -> dict[str, FurnitureChange]:
    """The furniture that calls reach into without opening it; in the benchmark it was open."""
    within = {thing.name: thing.parent for thing in placed if thing.relation is Relation.WITHIN}
    opened: set[str | None] = set()
    found: dict[str, FurnitureChange] = {}
    for call in map(parse_call, calls):
        into = None
        if call.name == SkillName.OPEN:
            opened.add(call.arguments[0])
        elif call.name == SkillName.PICK:
            into = within.get(call.arguments[0] or "")
        elif call.name == SkillName.PLACE and call.arguments[1] == "within":
            into = call.arguments[2]
        piece = house.furniture_by_name.get(into or "")
        if piece is not None and piece.joints and piece.name not in opened:
            found[piece.name] = FurnitureChange(open=True)
    return found


# VirtualHome's CLOSE is less than this from a centre to a box (ETPLAN-3.1).
CLOSE_M = 1.5


@dataclass(frozen=True)
class JudgedGoal:
    """An evaluation, or the reason why there is none; `notes` names what it leaves out."""

    evaluation: dict[str, JsonValue] | None
    reason: str = ""
    notes: tuple[str, ...] = ()


def evaluation_of_criteria(
    task: EtTask, goals: Sequence[EtTriple], variables: Mapping[str, tuple[str, ...]], house: House
) -> JudgedGoal:
    """The evaluation of a task's goals; `variables` are names of the house."""
    # What the plan puts somewhere before: a thing on a plate that is then put on the table.
    before = [
        triple
        for triple in task.intermediate
        if triple[0] in ("ON", "INSIDE") and ROBOT not in triple and is_brought_about(task, triple)
    ]
    return evaluation_of_triples(before, goals, variables, house)


def evaluation_of_triples(
    before: Sequence[EtTriple],
    goals: Sequence[EtTriple],
    variables: Mapping[str, tuple[str, ...]],
    house: House,
) -> JudgedGoal:
    """The same for criteria by themselves: what has to hold before, and what at the end."""
    return _Writer(variables, house).goal(before, goals)


@dataclass
class _Writer:
    variables: Mapping[str, tuple[str, ...]]
    house: House
    notes: list[str] = field(default_factory=list)

    def goal(self, before: Sequence[EtTriple], goals: Sequence[EtTriple]) -> JudgedGoal:
        propositions: list[JsonValue] = []
        used: dict[str, list[tuple[int, int]]] = defaultdict(list)
        first = 0
        for i, triple in enumerate((*before, *goals)):
            said = self._proposition(triple)
            if said is None:
                self.notes.append(f"({', '.join(triple)}) is kept in criteria only")
                continue
            for argument, word in enumerate(triple[1:]):
                if len(self.variables.get(word, ())) > 1:
                    used[word].append((len(propositions), argument))
            propositions.append(said)
            first += i < len(before)
        if not propositions:
            return JudgedGoal(None, "the evaluation language has no word for being near the robot")
        edges: list[JsonValue] = [
            [i, j] for i in range(first) for j in range(first, len(propositions))
        ]
        constraints: list[JsonValue] = [
            {
                "type": "SameArgConstraint",
                "proposition_indices": [i for i, _ in members],
                "arg_indices": [argument for _, argument in members],
            }
            for members in used.values()
            if len(members) > 1
        ]
        if edges:
            constraints.append({"type": "TemporalConstraint", "edges": edges})
        document: dict[str, JsonValue] = {"propositions": propositions}
        if constraints:
            document["constraints"] = constraints
        return JudgedGoal(document, notes=tuple(self.notes))

    def _is_thing(self, word: str) -> bool:
        name = next(iter(self.variables.get(word, ())), floor_name(""))
        known = name in self.house.rooms_by_name or name in self.house.furniture_by_name
        return not known and not name.startswith(floor_name(""))

    def _proposition(self, triple: EtTriple) -> JsonValue | None:
        relation, one, other = triple
        if ROBOT in (one, other) or relation == "FACING":
            return None
        first, second = list[JsonValue](self.variables[one]), list[JsonValue](self.variables[other])
        if relation == "CLOSE":
            args: dict[str, JsonValue] = {"entities_a": first, "entities_b": second}
            return {"function_name": "is_next_to", "args": {**args, "l2_threshold": CLOSE_M}}
        if not self._is_thing(one):
            return None
        if set(self.variables[other]) <= self.house.rooms_by_name.keys():
            return {"function_name": "is_in_room", "args": {"objects": first, "rooms": second}}
        name = "is_inside" if relation == "INSIDE" else "is_on_top"
        places = self.variables[other]
        if name == "is_inside" and not all(self._has(n, Relation.WITHIN) for n in places):
            name = "is_on_top"
            self.notes.append(f"inside a {other} is on it here")
        elif name == "is_on_top" and all(
            self._has(n, Relation.WITHIN) and not self._has(n, Relation.ON) for n in places
        ):
            name = "is_inside"
            self.notes.append(f"on a {other} is inside it here")
        return {"function_name": name, "args": {"objects": first, "receptacles": second}}

    def _has(self, name: str, relation: Relation) -> bool:
        """Whether something can be on, or within, furniture, a floor or a thing."""
        piece = self.house.furniture_by_name.get(name)
        if piece is not None:
            return bool(piece.surfaces if relation is Relation.ON else piece.interiors)
        if name.startswith(floor_name("")):
            return relation is Relation.ON
        # Anything can be in or on anything in a graph, and what is in a thing is on it, too.
        if self.house.graph is not None or relation is Relation.ON:
            return True
        return part_by_word(name.rpartition("_")[0], relation) is not None


# ET-Plan-Bench's tasks in scene graphs: nothing is fitted, ids and classes are the task's.
#
# A word of a criterion means the node with its id, or every node of its class, `floor` every
# floor. The published format has goals and initial positions in one text: statements about a thing
# that the plan moves elsewhere, or only finds, must have held on the way (ETPLAN-4.3).

DATASET = "et-plan-bench"
# As the benchmark's characters: two hands, of which opening needs a free one.
CHARACTER = AgentPlacement(uid="agent_0", kind=AgentKind.HUMAN)


@dataclass(frozen=True, slots=True)
class GraphTask:
    """A task in its graph; `reason` says why it has no evaluation, if it has none."""

    episode: Episode
    reason: str = ""


def graph_episode(task: EtTask, house: House) -> Episode:
    """A task as an episode in the graph for which it was made.

    Raises:
        FileError: if the graph has no node for a word of the task.
    """
    return graph_task(task, house).episode


def graph_task(
    task: EtTask, house: House, open_at_start: Sequence[tuple[str, int]] = (), sha256: str = ""
) -> GraphTask:
    """As `graph_episode`.

    Args:
        task: the task.
        house: made from the graph.
        open_at_start: class and id of furniture that is closed in the graph but open in this task.
        sha256: of the task's file.
    """
    things = {word_of(item.class_name) for item in house.objects}
    notes = list(task.unknown_fields)
    source, goals = (
        list(_without_building(task, triples, notes))
        for triples in split_criteria(task, lambda word: word_of(word) in things)
    )
    words = dict.fromkeys(w for t in (*source, *goals) for w in t[1:] if w != ROBOT)
    variables = {word: _meant(task, word, house) for word in words}
    judged = evaluation_of_criteria(task, goals, variables, house)
    try:
        criteria = Criteria(
            variables=variables,
            success=tuple(goals),  # type: ignore[arg-type]
            intermediate=tuple(source),  # type: ignore[arg-type]
            category=task.category,
            arms=task.arms,
            reference_plan=tuple(
                (s.verb, *(f"{w}_{n}" for w, n in s.arguments)) for s in task.plan
            ),
            reference_calls=plan_calls(task, house, _name),
        )
        stem = f"{task.file.split('.')[0]}-{task.task_id}"
        episode = Episode(
            version=1,
            episode_id="".join(c if c.isalnum() or c in "_.-" else "-" for c in stem),
            house=house.name,
            instruction=task.text,
            agents=(CHARACTER,),
            furniture={_name(*piece): FurnitureChange(open=True) for piece in open_at_start},
            evaluation=judged.evaluation,
            task_types=()
            if judged.evaluation is None
            else task_types(read_evaluation(judged.evaluation, task.file)),  # type: ignore[arg-type]
            criteria=criteria,
            source=Source(
                dataset=DATASET,
                file=task.file,
                scene_id=str(task.environment),
                episode_id=task.task_id,
                sha256=sha256,
                not_taken=tuple(dict.fromkeys((*notes, *judged.notes))),
            ),
        )
    except ValidationError as error:
        raise from_validation(task.file, error) from None
    return GraphTask(episode, judged.reason)


def script_lines(plan: Sequence[EtStep]) -> Iterator[str]:
    """A plan as script lines, such as `[putin] <apple> (211) <fridge> (103)`."""
    for step in plan:
        yield " ".join(
            (f"[{step.verb}]", *(f"<{word}> ({number})" for word, number in step.arguments))
        )


def _name(word: str, number: int) -> str:
    return f"{word_of(word)}_{number}"


def _without_building(
    task: EtTask, triples: Sequence[EtTriple], notes: list[str]
) -> Iterator[EtTriple]:
    """The triples except those about walls and the like, which are noted."""
    for triple in triples:
        if STRUCTURE.isdisjoint(task.classes.get(word, word) for word in triple[1:]):
            yield triple
        else:
            notes.append(f"({', '.join(triple)}): no part of the building is an entity")


def _meant(task: EtTask, word: str, house: House) -> tuple[str, ...]:
    class_name = word_of(task.classes.get(word, word))
    if class_name == FLOOR:
        return tuple(floor_name(room.name) for room in house.rooms)
    named = house.names_by_class.get(class_name, ())
    number = task.numbers.get(word)
    if number is not None:
        named = tuple(name for name in named if name == _name(class_name, number))
    if not named:
        what = class_name if number is None else _name(class_name, number)
        raise FileError(task.file, f"{task.task_id}.{word}", f"the graph has no {what[:60]}")
    return named
