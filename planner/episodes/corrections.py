"""Correction files: an episode as annotators read and change it (PARTNR-4.5).

One text for each episode, `episode_ID.py`, in the subset of Python that PARTNR's annotators used.
It is parsed, never executed. The format has no dependencies; they are inferred again (PARTNR-D34),
and written as one more block only where they would be others.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from planner.episodes.draft import Draft, draft_of
from planner.episodes.episode_file import write_text
from planner.episodes.lint.goal import task_types
from planner.episodes.partnr.evaluation import FieldError, corrected, translated
from planner.evaluation.language import read_evaluation
from planner.evaluation.task import NEXT_TO_M, Evaluation, Predicate, Proposition
from planner.world.episode import Episode
from planner.world.errors import FileError, PlannerError
from planner.world.files import read_text

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
        parts["propositions"],
        parts["dependencies"],
        parts["constraints"],
        lambda word, _: (word,),
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
