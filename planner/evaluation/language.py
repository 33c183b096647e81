"""PARTNR's evaluation language: the content of an episode's `evaluation`; all goals of one."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    AliasChoices,
    Discriminator,
    Field,
    JsonValue,
    Tag,
    ValidationError,
    model_validator,
)

from planner.evaluation.task import (
    ANYWHERE,
    NEXT_TO_M,
    Dependency,
    DependencyMode,
    Evaluation,
    GateRelation,
    KnownPredicate,
    PersonPredicate,
    Predicate,
    Proposition,
    Tie,
    TieKind,
    find_cycle,
    lists_of,
)
from planner.world.episode import Episode
from planner.world.errors import FileError, PlannerError, from_validation
from planner.world.files import FileModel

# Far more than any household task has; a larger file is broken or hostile.
MAX_PROPOSITIONS = 500
MAX_NAMES = 500
MAX_CLUSTER_CHOICES = 10_000


def _distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice!r} is listed twice")
    return names


Name = Annotated[str, Field(min_length=1, max_length=200)]
Names = Annotated[
    tuple[Name, ...], Field(min_length=1, max_length=MAX_NAMES), AfterValidator(_distinct)
]
Index = Annotated[int, Field(strict=True, ge=0)]
Indices = Annotated[tuple[Index, ...], Field(max_length=MAX_PROPOSITIONS)]
Number = Annotated[int, Field(strict=True, ge=1)]
Metres = Annotated[float, Field(strict=True, ge=0)]
# The paper's per-predicate names and its alias mean the same for every two-list predicate.
Same = Annotated[
    bool,
    Field(
        strict=True,
        validation_alias=AliasChoices(
            "is_same_b", "is_same_receptacle", "is_same_room", "arg_match"
        ),
    ),
]


class _ReceptacleArgs(FileModel):
    objects: Names
    receptacles: Names
    number: Number = 1
    is_same_b: Same = False


class _RoomArgs(FileModel):
    objects: Names
    rooms: Names
    number: Number = 1
    is_same_b: Same = False


class _NextToArgs(FileModel):
    entities_a: Names
    entities_b: Names
    number: Number = 1
    is_same_b: Same = False
    l2_threshold: Metres = NEXT_TO_M


class _ClusterArgs(FileModel):
    entities: Annotated[
        tuple[Names, ...],
        Field(min_length=2, max_length=20, validation_alias=AliasChoices("entities", "*args")),
    ]
    l2_threshold: Metres = NEXT_TO_M


class _ObjectArgs(FileModel):
    objects: Names
    number: Number = 1


class _OnReceptacles(FileModel):
    function_name: Literal[Predicate.IS_ON_TOP, Predicate.IS_INSIDE]
    args: _ReceptacleArgs

    def proposition(self) -> Proposition:
        """Converts to the plain record."""
        lists = (self.args.objects, self.args.receptacles)
        return Proposition(self.function_name, lists, self.args.number, self.args.is_same_b)


class _InRooms(FileModel):
    function_name: Literal[Predicate.IS_IN_ROOM]
    args: _RoomArgs

    def proposition(self) -> Proposition:
        """Converts to the plain record."""
        lists = (self.args.objects, self.args.rooms)
        return Proposition(self.function_name, lists, self.args.number, self.args.is_same_b)


class _NextTo(FileModel):
    function_name: Literal[Predicate.IS_NEXT_TO]
    args: _NextToArgs

    def proposition(self) -> Proposition:
        """Converts to the plain record."""
        args = self.args
        lists = (args.entities_a, args.entities_b)
        return Proposition(
            self.function_name, lists, args.number, args.is_same_b, args.l2_threshold
        )


class _Clustered(FileModel):
    function_name: Literal[Predicate.IS_CLUSTERED]
    args: _ClusterArgs

    def proposition(self) -> Proposition:
        """Converts to the plain record."""
        args = self.args
        return Proposition(
            self.function_name, args.entities, 1, is_same=False, threshold_m=args.l2_threshold
        )


class _PersonArgs(FileModel):
    objects: Names | None = None
    agents: Names | None = None
    persons: Names | None = None
    texts: Names | None = None
    places: Names | None = None
    number: Number = 1


class _WithPersons(FileModel):
    function_name: PersonPredicate
    args: _PersonArgs

    @model_validator(mode="after")
    def _lists_fit(self) -> _WithPersons:
        needed = set(lists_of(self.function_name))
        optional = {"places"} if self.function_name is PersonPredicate.IS_FOLLOWED else set()
        given = self.args.model_fields_set - {"number"}
        if not needed - optional <= given <= needed:
            words = " and ".join(lists_of(self.function_name))
            raise ValueError(f"{self.function_name} takes {words}")
        return self

    def proposition(self) -> Proposition:
        """Converts to the plain record."""
        names = lists_of(self.function_name)
        lists = tuple(getattr(self.args, name) or (ANYWHERE,) for name in names)
        return Proposition(self.function_name, lists, self.args.number)


class _Objects(FileModel):
    function_name: KnownPredicate
    args: _ObjectArgs

    def proposition(self) -> Proposition:
        """Converts to the plain record."""
        return Proposition(self.function_name, (self.args.objects,), self.args.number)


_FORMS: dict[str, str] = {
    Predicate.IS_ON_TOP: "_receptacles",
    Predicate.IS_INSIDE: "_receptacles",
    Predicate.IS_IN_ROOM: "_rooms",
    Predicate.IS_NEXT_TO: "_neighbours",
    Predicate.IS_CLUSTERED: "_cluster",
    **dict.fromkeys(PersonPredicate, "_persons"),
}


def _form(document: Any) -> str:
    if isinstance(document, dict):
        name = document.get("function_name")
        return _FORMS.get(name, "_objects") if isinstance(name, str) else "_objects"
    return "_objects"


_Proposition = Annotated[
    Annotated[_OnReceptacles, Tag("_receptacles")]
    | Annotated[_InRooms, Tag("_rooms")]
    | Annotated[_NextTo, Tag("_neighbours")]
    | Annotated[_Clustered, Tag("_cluster")]
    | Annotated[_WithPersons, Tag("_persons")]
    | Annotated[_Objects, Tag("_objects")],
    Discriminator(_form),
]


class _Dependency(FileModel):
    proposition_indices: Annotated[Indices, Field(min_length=1)]
    depends_on: Annotated[Indices, Field(min_length=1)]
    relation_type: GateRelation
    dependency_mode: DependencyMode = DependencyMode.ALL


class _Temporal(FileModel):
    """Edges, or groups, each of which precedes the next (PARTNR-D21)."""

    type: Literal["TemporalConstraint"]
    edges: tuple[tuple[Index, Index], ...] | None = Field(
        default=None, validation_alias=AliasChoices("edges", "graph_edges", "dag_edges")
    )
    groups: tuple[Indices, ...] | None = Field(
        default=None,
        validation_alias=AliasChoices("groups", "temporal_groups", "proposition_order"),
    )


class _Tied(FileModel):
    type: Literal["SameArgConstraint", "DifferentArgConstraint"]
    proposition_indices: Annotated[Indices, Field(min_length=1)]
    arg_indices: tuple[Index | Name, ...] = Field(
        min_length=1, validation_alias=AliasChoices("arg_indices", "arg_names", "arg_index")
    )


class _Terminal(FileModel):
    type: Literal["TerminalSatisfactionConstraint"]
    proposition_indices: Indices


class _Throughout(FileModel):
    """What must hold in every state, or in none."""

    type: Literal["AlwaysConstraint", "NeverConstraint"]
    proposition_indices: Annotated[Indices, Field(min_length=1)]


_Constraint = Annotated[_Temporal | _Tied | _Terminal | _Throughout, Field(discriminator="type")]


class EvaluationFile(FileModel):
    """The `evaluation` of an episode, as in the file."""

    propositions: tuple[_Proposition, ...] = Field(min_length=1, max_length=MAX_PROPOSITIONS)
    dependencies: tuple[_Dependency, ...] = ()
    constraints: tuple[_Constraint, ...] = ()
    exclude_final_constraint: Indices | None = None


# Parts of pydantic's error paths that denote the choice of a model, not a field of the file.
_CHOICES = frozenset(
    {
        "_objects",
        *_FORMS.values(),
        "TemporalConstraint",
        "SameArgConstraint",
        "DifferentArgConstraint",
    }
    | {"TerminalSatisfactionConstraint", "AlwaysConstraint", "NeverConstraint"}
)


def read_evaluation(
    document: JsonValue | None, source: Path | str, field: str = "evaluation"
) -> Evaluation:
    """Parses and checks an evaluation document.

    Args:
        document: the parsed JSON.
        source: file name for errors.
        field: the document's field in the file.

    Raises:
        FileError: with file, field, proposition index and reason (PARTNR-D17, PARTNR-D25,
            PARTNR-D30 i-iii).
    """
    try:
        file = EvaluationFile.model_validate(document)
    except ValidationError as error:
        plain = from_validation(source, error)
        loc = [str(part) for part in error.errors()[0]["loc"]]
        path = ".".join([field, *(part for part in loc if part not in _CHOICES)])
        raise FileError(source, path, plain.reason) from None
    return _Reading(file, source, field).evaluation()


class _Reading:
    """The conversion of one file to an `Evaluation`."""

    def __init__(self, file: EvaluationFile, source: Path | str, field: str) -> None:
        self._file = file
        self._source = source
        self._field = field
        self._count = len(file.propositions)

    def evaluation(self) -> Evaluation:
        propositions = tuple(entry.proposition() for entry in self._file.propositions)
        for i, proposition in enumerate(propositions):
            self._check_size(i, proposition)
        return Evaluation(
            propositions=propositions,
            dependencies=self._dependencies(),
            orders=self._orders(),
            ties=self._ties(propositions),
            terminal=self._terminal() - self._throughout("NeverConstraint"),
            always=self._throughout("AlwaysConstraint"),
            never=self._throughout("NeverConstraint"),
        )

    def _error(self, where: str, reason: str) -> FileError:
        return FileError(self._source, f"{self._field}.{where}", reason)

    def _check_size(self, i: int, proposition: Proposition) -> None:
        first = proposition.lists[0]
        if proposition.number > len(first):
            raise self._error(
                f"propositions.{i}.args.number",
                f"{proposition.number} of a list of {len(first)} can never be met",
            )
        if proposition.predicate is Predicate.IS_CLUSTERED:
            choices = 1
            for names in proposition.lists:
                choices *= len(names)
            if choices > MAX_CLUSTER_CHOICES:
                raise self._error(
                    f"propositions.{i}.args.entities",
                    f"{choices} ways to choose are more than {MAX_CLUSTER_CHOICES}",
                )

    def _check_indices(self, where: str, indices: Sequence[int]) -> None:
        for k, index in enumerate(indices):
            if index >= self._count:
                reason = f"there is no proposition {index}; there are {self._count}, from 0"
                raise self._error(f"{where}.{k}", reason)

    def _dependencies(self) -> tuple[Dependency, ...]:
        found = []
        for k, entry in enumerate(self._file.dependencies):
            where = f"dependencies.{k}"
            self._check_indices(f"{where}.proposition_indices", entry.proposition_indices)
            self._check_indices(f"{where}.depends_on", entry.depends_on)
            found.append(
                Dependency(
                    tuple(dict.fromkeys(entry.proposition_indices)),
                    tuple(dict.fromkeys(entry.depends_on)),
                    entry.relation_type,
                    entry.dependency_mode,
                )
            )
        links = {(head, gated) for dep in found for head in dep.depends_on for gated in dep.gated}
        self._refuse_cycle("dependencies", links)
        return tuple(found)

    def _orders(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        orders = []
        everything: set[tuple[int, int]] = set()
        for k, entry in enumerate(self._file.constraints):
            if not isinstance(entry, _Temporal):
                continue
            where = f"constraints.{k}"
            if (entry.edges is None) == (entry.groups is None):
                raise self._error(where, "needs either edges or groups")
            for n, edge in enumerate(entry.edges or ()):
                self._check_indices(f"{where}.edges.{n}", edge)
            for n, group in enumerate(entry.groups or ()):
                self._check_indices(f"{where}.groups.{n}", group)
            edges = {*(entry.edges or ()), *group_edges(entry.groups or ())}
            everything |= edges
            self._refuse_cycle(where, everything)
            orders.append(tuple(sorted(edges)))
        return tuple(orders)

    def _refuse_cycle(self, where: str, links: set[tuple[int, int]]) -> None:
        cycle = find_cycle(links)
        if cycle:
            path = " -> ".join(str(index) for index in cycle)
            raise self._error(where, f"propositions {path} wait for each other in a cycle")

    def _ties(self, propositions: tuple[Proposition, ...]) -> tuple[Tie, ...]:
        ties = []
        for k, entry in enumerate(self._file.constraints):
            if not isinstance(entry, _Tied):
                continue
            where = f"constraints.{k}"
            indices = entry.proposition_indices
            self._check_indices(f"{where}.proposition_indices", indices)
            if len(set(indices)) != len(indices):
                raise self._error(f"{where}.proposition_indices", "a proposition is listed twice")
            arguments = self._arguments(entry, f"{where}.arg_indices")
            members = tuple(
                (i, self._argument(propositions[i], argument, f"{where}.arg_indices.{n}"))
                for n, (i, argument) in enumerate(zip(indices, arguments, strict=True))
            )
            ties.append(Tie(TieKind(entry.type), members))
        return tuple(ties)

    def _arguments(self, entry: _Tied, where: str) -> tuple[int | str, ...]:
        given, expected = entry.arg_indices, len(entry.proposition_indices)
        if len(given) < expected and len(set(given)) == 1:
            return given[:1] * expected  # PARTNR-D25: the paper's own example has one too few.
        if len(given) != expected:
            raise self._error(where, f"{len(given)} arguments for {expected} propositions")
        return given

    def _argument(self, proposition: Proposition, argument: int | str, where: str) -> int:
        names = proposition.argument_names
        if isinstance(argument, str):
            if argument not in names:
                raise self._error(where, f"{proposition.predicate} has no argument {argument!r}")
            return names.index(argument)
        if argument >= len(names):
            raise self._error(where, f"{proposition.predicate} has {len(names)} argument(s)")
        return argument

    def _throughout(self, kind: str) -> frozenset[int]:
        found: set[int] = set()
        for k, entry in enumerate(self._file.constraints):
            if isinstance(entry, _Throughout) and entry.type == kind:
                where = f"constraints.{k}.proposition_indices"
                self._check_indices(where, entry.proposition_indices)
                found |= set(entry.proposition_indices)
        return frozenset(found)

    def _terminal(self) -> frozenset[int]:
        everything = frozenset(range(self._count))
        excluded = self._file.exclude_final_constraint
        stated = [
            (k, entry)
            for k, entry in enumerate(self._file.constraints)
            if isinstance(entry, _Terminal)
        ]
        for k, entry in stated:
            self._check_indices(f"constraints.{k}.proposition_indices", entry.proposition_indices)
        if excluded is not None:
            if stated:
                reason = "contradicts the TerminalSatisfactionConstraint; give one of them"
                raise self._error("exclude_final_constraint", reason)
            self._check_indices("exclude_final_constraint", excluded)
            return everything - frozenset(excluded)
        if stated:
            return frozenset(i for _, entry in stated for i in entry.proposition_indices)
        # The paper's default when annotating: what was achieved must last (PARTNR-3.4).
        return everything


def group_edges(groups: Sequence[Sequence[int]]) -> set[tuple[int, int]]:
    """The edges between ordered groups: all to all between adjacent groups (PARTNR-D21)."""
    return {(i, j) for earlier, later in itertools.pairwise(groups) for i in earlier for j in later}


# An episode's goal: PARTNR's evaluation, ET-Plan-Bench's criteria, or both.


def evaluation_of(episode: Episode) -> Evaluation:
    """The episode's evaluation; one without propositions if it has only criteria.

    Raises:
        PlannerError: if the episode has no goal.
        FileError: if the evaluation is invalid.
    """
    if episode.evaluation is not None:
        return read_evaluation(episode.evaluation, episode.episode_id)
    if episode.criteria is None:
        raise PlannerError(f"episode {episode.episode_id} has no goal, so nothing can be judged")
    return Evaluation(())
