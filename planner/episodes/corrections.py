"""Evaluations as annotators write them, correction files, and `planner episodes correct`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from pydantic import JsonValue

from planner.episodes.episode_file import episodes_in, write_set, write_text
from planner.episodes.evaluation_text import FieldError, corrected, translated
from planner.episodes.lint.goal import task_types
from planner.episodes.recipes.file import GoalSpec, Target, dependencies, is_unary, order, terminal
from planner.evaluation.language import read_evaluation
from planner.evaluation.task import (
    NEXT_TO_M,
    Evaluation,
    Predicate,
    Proposition,
    Tie,
    asked_open,
    is_about_person,
)
from planner.world.episode import Episode
from planner.world.errors import FileError, PlannerError
from planner.world.files import read_text
from planner.world.house import House
from planner.world.house_checks import find_house_of, load_house
from planner.world.share import config_dir

# An evaluation as annotators and models write it: without dependencies (PARTNR-4.4, PARTNR-4.5).
#
# The rest follows from the propositions, their order and the initial positions (PARTNR-D34).

# The flag that ties the second argument, by predicate (PARTNR-3.2).
_SAME = {
    Predicate.IS_ON_TOP: "is_same_receptacle",
    Predicate.IS_INSIDE: "is_same_receptacle",
    Predicate.IS_IN_ROOM: "is_same_room",
    Predicate.IS_NEXT_TO: "is_same_b",
}


@dataclass(frozen=True, slots=True)
class Draft:
    """Propositions, order and ties.

    Attributes:
        groups: indices of propositions, each group before the next; what is in none has no order.
        excluded: what need not hold at the end; None: what a later group undoes.
    """

    propositions: tuple[Proposition, ...]
    groups: tuple[tuple[int, ...], ...] = ()
    ties: tuple[Tie, ...] = ()
    excluded: tuple[int, ...] | None = None

    def evaluation(self, starts: Mapping[str, str]) -> dict[str, JsonValue]:
        """The evaluation record.

        Args:
            starts: for every thing the furniture or floor that it starts on or in.
        """
        steps = {i: step for step, group in enumerate(self.groups) for i in group}
        ordered = len(self.groups) > 1
        found = [
            _target(item, steps.get(i) if ordered else None)
            for i, item in enumerate(self.propositions)
        ]
        lasting = terminal(found)
        if self.excluded is not None:
            kept = [i for i in range(len(found)) if i not in self.excluded]
            lasting = {"type": "TerminalSatisfactionConstraint", "proposition_indices": [*kept]}
        return {
            "propositions": [proposition_json(item) for item in self.propositions],
            "dependencies": dependencies(found, starts),
            "constraints": [*order(found), *(_tie_json(tie) for tie in self.ties), lasting],
        }


def draft_of(evaluation: Evaluation) -> Draft:
    """The part of an evaluation that annotators write.

    Raises:
        PlannerError: if its order is not one of groups, each before the next, or something must
            hold in every state or in none.
    """
    if evaluation.always or evaluation.never:
        raise PlannerError("what must hold in every state, or in none, is not in this format")
    if any(asked_open(p.predicate) is not None for p in evaluation.propositions):
        raise PlannerError("whether something is open is not in this format")
    if any(is_about_person(p.predicate) for p in evaluation.propositions):
        raise PlannerError("corrections cannot say what is done with persons")
    everything = range(len(evaluation.propositions))
    return Draft(
        evaluation.propositions,
        _groups(evaluation.edges),
        evaluation.ties,
        tuple(i for i in everything if i not in evaluation.terminal),
    )


def proposition_json(item: Proposition) -> dict[str, JsonValue]:
    """A proposition as an episode has it."""
    if item.predicate is Predicate.IS_CLUSTERED:
        entities: list[JsonValue] = [list(names) for names in item.lists]
        return {"function_name": str(item.predicate), "args": {"entities": entities}}
    args: dict[str, JsonValue] = {
        name: list(names) for name, names in zip(item.argument_names, item.lists, strict=True)
    }
    args["number"] = item.number
    if item.is_same:
        args[_SAME[Predicate(item.predicate)]] = True
    if item.predicate is Predicate.IS_NEXT_TO and item.threshold_m != NEXT_TO_M:
        args["l2_threshold"] = item.threshold_m
    return {"function_name": str(item.predicate), "args": args}


def _target(item: Proposition, step: int | None) -> Target:
    names = item.lists[0]
    at = () if is_unary(item.predicate) else tuple(n for part in item.lists[1:] for n in part)
    known = Predicate.IS_NEXT_TO if item.predicate is Predicate.IS_CLUSTERED else item.predicate
    spec = GoalSpec(predicate=known, things=("things",), at=("places",) if at else ())
    return Target(step, names, at, item.number, spec)


def _tie_json(tie: Tie) -> JsonValue:
    return {
        "type": tie.kind.value,
        "proposition_indices": [i for i, _ in tie.members],
        "arg_indices": [k for _, k in tie.members],
    }


def _groups(edges: Sequence[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
    """The groups whose adjacent pairs are exactly these edges (PARTNR-D21)."""
    level = {i: 0 for edge in edges for i in edge}
    for _ in level:
        for i, j in edges:
            level[j] = max(level[j], level[i] + 1)
    count = max(level.values(), default=-1) + 1
    groups = tuple(tuple(sorted(i for i in level if level[i] == k)) for k in range(count))
    if {(i, j) for one, other in pairwise(groups) for i in one for j in other} != set(edges):
        raise PlannerError("the order of its propositions is not one of groups, one after another")
    return groups


_SIGNATURES = """\
# is_on_top(objects, receptacles, number=1, is_same_receptacle=False)
# is_inside(objects, receptacles, number=1, is_same_receptacle=False)
# is_in_room(objects, rooms, number=1, is_same_room=False)
# is_on_floor(objects, number=1)
# is_next_to(entities_a, entities_b, number=1, is_same_b=False, l2_threshold=0.5)
# is_clean(objects), is_dirty(objects), is_filled(objects), is_empty(objects),
# is_powered_on(objects), is_powered_off(objects)
"""


@dataclass(frozen=True, slots=True)
class Correction:
    """An episode as corrected.

    Attributes:
        episode: with the instruction and the evaluation of the correction.
        skipped: why the episode is to be left out; "" if it is not.
    """

    episode: Episode
    skipped: str


def correction_path(folder: Path, episode_id: str) -> Path:
    """The correction file of an episode in a folder of corrections."""
    return folder / f"episode_{episode_id}.py"


def correction_text(episode: Episode, *, skip: bool = False, reason: str = "") -> str:
    """The correction file of an episode as it is now.

    Args:
        episode: one with an evaluation.
        skip: whether it has a fault that cannot be corrected.
        reason: the annotator's remark.

    Raises:
        PlannerError: if the episode has no evaluation, or an order that the format lacks.
        FileError: if the evaluation is malformed.
    """
    if episode.evaluation is None:
        raise PlannerError(f"{episode.episode_id}: has no evaluation to correct")
    evaluation = _read(episode.evaluation, episode.episode_id)
    draft = draft_of(evaluation)
    blocks = [
        f"instruction = {_quoted(episode.instruction)}",
        _SIGNATURES + _block("propositions", [call_text(item) for item in draft.propositions]),
        f"temporal_groups = {[list(group) for group in draft.groups]}",
        _block("tie_constraints", _ties(draft)),
        *_dependencies(evaluation, draft, episode),
        f"exclude_final_constraint = {list(draft.excluded or ())}",
        f"skip_episode = {skip}",
        f"reason = {_quoted(reason)}",
    ]
    return "\n\n".join(blocks) + "\n"


def write_correction(
    folder: Path, episode: Episode, *, skip: bool = False, reason: str = ""
) -> Path:
    """Writes an episode's correction file, replacing an older one; arguments as before.

    Raises:
        PlannerError: as `correction_text`.
        FileError: if it cannot be written.
    """
    path = correction_path(folder, episode.episode_id)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(folder, "", f"cannot be made: {error.strerror}") from None
    write_text(path, correction_text(episode, skip=skip, reason=reason))
    return path


def read_correction(path: Path, episode: Episode) -> Correction:
    """Applies a correction file to its episode.

    What the file does not have stays. Names are the episode's own; `planner episodes lint` checks
    the result.

    Raises:
        FileError: with the file, the block and the reason.
    """
    text = read_text(path)
    try:
        parts, skipped = corrected(text)
        evaluation = _evaluation(parts, episode)
    except FieldError as error:
        raise FileError(path, error.field, error.reason) from None
    read = _read(evaluation, str(path)) if evaluation is not None else None
    changed = episode.model_copy(
        update={
            "instruction": parts.get("instruction", episode.instruction),
            "evaluation": evaluation,
            "task_types": task_types(read) if read is not None else episode.task_types,
        }
    )
    return Correction(changed, skipped)


def _evaluation(parts: dict[str, object], episode: Episode) -> dict[str, JsonValue] | None:
    if "propositions" not in parts:
        return episode.evaluation
    document = translated(
        parts["propositions"], parts["dependencies"], parts["constraints"], lambda word, _: (word,)
    )
    evaluation = _read(document, episode.episode_id)
    inferred = draft_of(evaluation).evaluation(_starts(episode))
    if "dependencies" in document:
        inferred["dependencies"] = document["dependencies"]
    if episode.evaluation is not None:
        before = _read(episode.evaluation, episode.episode_id)
        if _read(inferred, episode.episode_id) == before:
            return episode.evaluation
    return inferred


def _read(document: dict[str, JsonValue], source: str) -> Evaluation:
    return read_evaluation(document, Path(source))


def _starts(episode: Episode) -> dict[str, str]:
    return {item.name: item.parent for item in episode.objects}


def call_text(item: Proposition) -> str:
    """A proposition as a call in Python, as annotators and models write it."""
    args = [_names(names) for names in item.lists]
    if item.number != 1:
        args.append(f"number={item.number}")
    if item.is_same:
        args.append("arg_match=True")
    if item.threshold_m != NEXT_TO_M and item.predicate is not Predicate.IS_CLUSTERED:
        args.append(f"l2_threshold={item.threshold_m}")
    return f"{item.predicate}({', '.join(args)})"


def _ties(draft: Draft) -> list[str]:
    return [
        f"{tie.kind.value}(proposition_indices={[i for i, _ in tie.members]}, "
        f"arg_indices={[k for _, k in tie.members]})"
        for tie in draft.ties
    ]


def _dependencies(evaluation: Evaluation, draft: Draft, episode: Episode) -> list[str]:
    """The block of dependencies, only if they would not be inferred."""
    inferred = _read(draft.evaluation(_starts(episode)), episode.episode_id)
    if set(inferred.dependencies) == set(evaluation.dependencies):
        return []
    calls = [
        f"PropositionDependency({list(gate.gated)}, {list(gate.depends_on)}, "
        f'"{gate.relation.value}", "{gate.mode.value}")'
        for gate in evaluation.dependencies
    ]
    return [_block("dependencies", calls)]


def _block(name: str, lines: list[str]) -> str:
    inner = "".join(f"    {line},\n" for line in lines)
    return f"{name} = [\n{inner}]" if lines else f"{name} = []"


def _names(names: tuple[str, ...]) -> str:
    return "[" + ", ".join(_quoted(name) for name in names) + "]"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


# `planner episodes correct`: applies correction files to a set of episodes.


def correct(places: Sequence[Path], corrections: Path, output: Path) -> int:
    """Writes the episodes of files and folders as corrected, without those that are skipped.

    Args:
        places: files and folders of episodes.
        corrections: the folder of correction files.
        output: a folder, or a pack by its name.

    Raises:
        PlannerError: if the folder does not exist or fits none of the episodes.
        FileError: for the first file that is invalid.
    """
    if not corrections.is_dir():
        raise PlannerError(f"{corrections}: there is no such folder")
    kept: list[Episode] = []
    houses: dict[str, House] = {}
    changed = skipped = found = 0
    for path, episode in episodes_in(places):
        if not isinstance(episode, Episode):
            raise episode
        file = correction_path(corrections, episode.episode_id)
        result = episode
        if file.is_file():
            found += 1
            correction = read_correction(file, episode)
            if correction.skipped:
                skipped += 1
                print(f"{episode.episode_id}: left out: {correction.skipped}")
                continue
            result = correction.episode
            changed += result != episode
        kept.append(result)
        house = find_house_of(path, episode.house)
        if config_dir() not in house.parents:
            houses[episode.house] = load_house(house)
    if not found:
        raise PlannerError(f"{corrections}: has a correction file of none of the episodes")
    write_set(output, kept, list(houses.values()))
    print(f"wrote {len(kept)} episodes to {output}: {changed} changed, {skipped} left out")
    return 0
