"""Lints episodes, all problems of a file by rule, field and reason; `planner episodes lint`."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from planner.episodes.arguments import Solve
from planner.episodes.episode_file import REPORT_NAME, opened
from planner.episodes.lint.ability import impossible_neighbours, out_of_reach, unsolvable
from planner.episodes.lint.criteria import checklist_findings, criteria_at_start
from planner.episodes.lint.goal import (
    SENTENCES,
    LintFinding,
    Rule,
    Severity,
    contradictions,
    duplicates,
    task_types,
)
from planner.episodes.recipes.build import shipped_episodes
from planner.episodes.start_state import house_entities, start_entities, with_graph_things
from planner.evaluation.constraints import StrictJudge
from planner.evaluation.criteria import criteria_findings
from planner.evaluation.entity_checks import entity_findings, facts_of_episode, goal_warnings
from planner.evaluation.language import read_evaluation
from planner.evaluation.predicates import Variant, Watch
from planner.evaluation.progress import Mode, Progress, PropositionProgress, Reason
from planner.evaluation.scene import BrokenStateError, Scene
from planner.evaluation.task import Evaluation, Predicate
from planner.world.catalogue import Catalogue, default_catalogue
from planner.world.episode import Criteria, Episode, read_episode
from planner.world.errors import FileError, PlannerError
from planner.world.house import House
from planner.world.house_checks import (
    check_episode,
    find_house_of,
    load_house,
    unreachable_furniture,
)
from planner.world.object_checks import Reach
from planner.world.state import EntityState, WorldState

# Reading a house costs more than linting an episode, so this many are cached.
_MAX_CACHED_HOUSES = 64
# Number of files from which a further process is worth its start-up time.
_FILES_A_PROCESS = 200


@dataclass(frozen=True, slots=True)
class FileReport:
    """The findings for one file; `episode_id` is "" if none could be read.

    Attributes:
        has_plan: it has a reference plan in calls, which can be carried out.
        plan_holds: whether that meets the criteria; None if it was not carried out.
    """

    file: str
    episode_id: str
    findings: tuple[LintFinding, ...]
    has_plan: bool = False
    plan_holds: bool | None = None

    @property
    def errors(self) -> int:
        """The number of findings that make the episode unusable."""
        return sum(f.severity is Severity.ERROR for f in self.findings)

    @property
    def warnings(self) -> int:
        """The number of findings to be reviewed."""
        return len(self.findings) - self.errors


class Linter:
    """Checks episodes against the rules."""

    def __init__(self) -> None:
        self._catalogue: Catalogue = default_catalogue()
        self._grounds: dict[tuple[Path, str], _Ground | str] = {}

    def lint(self, path: Path) -> FileReport:
        """All findings for one file, in the order of the rules; never raises for a bad file."""
        try:
            episode = read_episode(path)
        except FileError as error:
            return FileReport(str(path), "", (_unread(error),))
        found = tuple(self._findings(path, episode))
        plan = episode.criteria is not None and bool(episode.criteria.reference_calls)
        return FileReport(str(path), episode.episode_id, found, has_plan=plan)

    def errors(self, episode: Episode, house: House) -> list[LintFinding]:
        """What makes an episode unusable that is in no file yet; houses are known by name."""
        found = self.findings(episode, house)
        return [finding for finding in found if finding.severity is Severity.ERROR]

    def findings(self, episode: Episode, house: House) -> list[LintFinding]:
        """The same with the warnings."""
        key = (Path(), house.name)
        ground = self._grounds.get(key)
        if not isinstance(ground, _Ground):
            ground = _Ground(house, self._catalogue)
            self._keep(key, ground)
        return list(self._in_house(Path(episode.episode_id), episode, ground))

    def _findings(self, path: Path, episode: Episode) -> Iterator[LintFinding]:
        if not episode.instruction.strip():
            yield LintFinding(Rule.NO_INSTRUCTION, "instruction", "there is no instruction")
        if episode.source is not None and episode.source.needs_scene:
            reason = f"the episode is in the scene {episode.source.scene_id!r}"
            yield LintFinding(Rule.NEEDS_SCENE, "house", reason)
            yield from self._evaluation_alone(path, episode)
            return
        ground = self._ground(path, episode.house)
        if isinstance(ground, str):
            yield LintFinding(Rule.HOUSE, "house", ground)
            yield from self._evaluation_alone(path, episode)
            return
        yield from self._in_house(path, episode, ground)

    def _in_house(self, path: Path, episode: Episode, ground: _Ground) -> Iterator[LintFinding]:
        for finding in check_episode(episode, ground.house, self._catalogue, ground.reach):
            yield LintFinding(
                _rule_of_finding(finding.field, finding.reason), finding.field, finding.reason
            )
        evaluation = None
        for item in _evaluation_of(path, episode):
            if isinstance(item, LintFinding):
                yield item
            else:
                evaluation = item
        if evaluation is not None:
            yield from self._goal(episode, ground, evaluation)
        if episode.checklist is not None:
            known = facts_of_episode(episode, ground.house, self._catalogue)
            yield from checklist_findings(episode.checklist, evaluation, known)
        if episode.criteria is not None:
            known = facts_of_episode(episode, ground.house, self._catalogue)
            unfit = list(criteria_findings(episode.criteria, known))
            for field, reason in unfit:
                yield LintFinding(_rule_of_criteria(reason), field, reason)
            if not unfit:
                yield from self._criteria(episode, ground, episode.criteria)

    def _criteria(
        self, episode: Episode, ground: _Ground, criteria: Criteria
    ) -> Iterator[LintFinding]:
        entities = ground.start(episode)
        try:
            scene = ground.scene(entities)
        except BrokenStateError as error:
            yield LintFinding(Rule.PLACEMENT, "objects", str(error))
            return
        state = WorldState(0.0, 0, 0, ground.house.name, episode.episode_id, entities)
        yield from criteria_at_start(criteria, scene, state)

    def _ground(self, path: Path, house: str) -> _Ground | str:
        """The episode's house, or what is wrong with it."""
        key = (path.parent, house)
        if key not in self._grounds:
            try:
                ground = _Ground(load_house(find_house_of(path, house)), self._catalogue)
                self._keep(key, ground)
            except FileError as error:
                self._keep(key, error.reason if error.file == str(path) else str(error))
        return self._grounds[key]

    def _keep(self, key: tuple[Path, str], ground: _Ground | str) -> None:
        if len(self._grounds) >= _MAX_CACHED_HOUSES:
            self._grounds.pop(next(iter(self._grounds)))
        self._grounds[key] = ground

    def _evaluation_alone(self, path: Path, episode: Episode) -> Iterator[LintFinding]:
        """The findings that do not need the evaluation's house."""
        for item in _evaluation_of(path, episode):
            if isinstance(item, LintFinding):
                yield item
            else:
                yield from duplicates(item)

    def _goal(
        self, episode: Episode, ground: _Ground, evaluation: Evaluation
    ) -> Iterator[LintFinding]:
        facts = facts_of_episode(episode, ground.house, self._catalogue)
        unfit = False
        for field, reason in entity_findings(evaluation, facts):
            unfit = True
            yield LintFinding(_rule_of_entity(reason), f"evaluation.{field}", reason)
        yield from _under_evaluation(duplicates(evaluation))
        if task_types(evaluation) != tuple(sorted(episode.task_types, key=_TYPES.index)):
            reason = f"follow from the evaluation as {', '.join(task_types(evaluation))}"
            yield LintFinding(Rule.TASK_TYPES, "task_types", reason)
        if unfit:
            return
        entities = ground.start(episode)
        yield from _under_evaluation(contradictions(evaluation, ground.house, entities))
        yield from _under_evaluation(impossible_neighbours(evaluation, ground.house, entities))
        for field, reason in out_of_reach(evaluation, entities, ground.unreachable):
            yield LintFinding(Rule.UNSOLVABLE, f"evaluation.{field}", reason)
        try:
            scene = ground.scene(entities)
        except BrokenStateError as error:
            yield LintFinding(Rule.PLACEMENT, "objects", str(error))
            return
        placed = with_graph_things(episode, ground.house)
        yield from _under_evaluation(_at_start(placed, ground.house, evaluation, scene, entities))


class _Ground:
    """What is constant over all episodes of one house."""

    def __init__(self, house: House, catalogue: Catalogue) -> None:
        self.house = house
        self.reach = Reach(house)
        # Our own houses with unreachable furniture are refused when loaded.
        self.unreachable = unreachable_furniture(house, self.reach) if house.foreign else {}
        self._catalogue = catalogue
        self._unchanged = house_entities(house)
        self._scene = Scene(house, self._unchanged)

    def start(self, episode: Episode) -> dict[str, EntityState]:
        """The entities at an episode's start."""
        placed = with_graph_things(episode, self.house)
        return start_entities(placed, self.house, self._catalogue, self._unchanged)

    def scene(self, entities: dict[str, EntityState]) -> Scene:
        """The scene with exactly these entities; valid until the next call."""
        old = self._scene.entities
        changed = [e for name, e in entities.items() if old.get(name) is not e]
        self._scene.update(changed, [name for name in old if name not in entities])
        return self._scene


_TYPES = ("spatial", "temporal", "heterogeneous", "constraint_free")


def _at_start(
    episode: Episode,
    house: House,
    evaluation: Evaluation,
    scene: Scene,
    entities: dict[str, EntityState],
) -> Iterator[LintFinding]:
    """Propositions that are true at the start, and those that no agent can satisfy."""
    judge = StrictJudge(evaluation)
    watches = [Watch(proposition, scene) for proposition in judge.propositions]
    judge.advance(0, watches)
    statuses = judge.statuses(watches)
    if all(status.reason is None for status in statuses):
        reason = "everything is satisfied already at the start"
        yield LintFinding(Rule.ALREADY_SATISFIED, "propositions", reason)
    else:
        for i, status in enumerate(statuses):
            if status.reason is None:
                of_places = evaluation.propositions[i].predicate in set(Predicate)
                # A history has done a part of its task.
                is_expected = of_places or _has_history(episode)
                rule = Rule.TRUE_AT_START if is_expected else Rule.STATE_AT_START
                reason = "is satisfied already at the start"
                yield LintFinding(rule, f"propositions.{i}", reason)
        yield from _warnings(evaluation, watches)
    rows = [watch.rows for watch in watches]
    yield from unsolvable(evaluation, rows, episode, house, entities)


def _has_history(episode: Episode) -> bool:
    return episode.dialogue is not None and bool(episode.dialogue.actions)


def _warnings(evaluation: Evaluation, watches: Sequence[Watch]) -> Iterator[LintFinding]:
    """PARTNR-D30 v and vi."""
    start = tuple(
        PropositionProgress(i, "", watch.holds, False, None, Reason.NEVER, "")
        for i, watch in enumerate(watches)
    )
    progress = Progress(0.0, False, 0, start, "", Mode.STRICT, Variant.BOXES)
    for field, reason in goal_warnings(evaluation, progress):
        rule = Rule.LOST_HEAD if field.startswith("dependencies") else Rule.UNGATED
        yield LintFinding(rule, field, reason)


def _under_evaluation(findings: Iterable[LintFinding]) -> Iterator[LintFinding]:
    for finding in findings:
        yield LintFinding(finding.rule, f"evaluation.{finding.field}", finding.reason)


def _evaluation_of(path: Path, episode: Episode) -> Iterator[LintFinding | Evaluation]:
    """The evaluation, or what is wrong with its form."""
    if episode.evaluation is None:
        reason = "there is no evaluation"
        if episode.criteria is not None:
            reason += ": only its criteria are judged"
        yield LintFinding(Rule.NO_EVALUATION, "evaluation", reason)
        if episode.task_types:
            reason = "follow from an evaluation, and there is none"
            yield LintFinding(Rule.TASK_TYPES, "task_types", reason)
        return
    try:
        yield read_evaluation(episode.evaluation, path)
    except FileError as error:
        yield LintFinding(_rule_of_form(error), error.field, error.reason)


def _unread(error: FileError) -> LintFinding:
    if error.field == "version" and "not supported" in error.reason:
        return LintFinding(Rule.VERSION, error.field, error.reason)
    rule = Rule.SCHEMA if error.field else Rule.UNREADABLE
    return LintFinding(rule, error.field, error.reason)


def _rule_of_form(error: FileError) -> Rule:
    """The rule for an error of the evaluation's reader, which has only its text."""
    if "in a cycle" in error.reason:
        return Rule.CYCLE
    if "there is no proposition" in error.reason or "argument" in error.reason:
        return Rule.INDEX
    return Rule.NUMBER if "can never be met" in error.reason else Rule.EVALUATION


def _rule_of_entity(reason: str) -> Rule:
    if reason.startswith("there is no entity"):
        return Rule.UNKNOWN_ENTITY
    return Rule.MISSING_AFFORDANCE if reason.endswith("able") else Rule.WRONG_KIND


def _rule_of_criteria(reason: str) -> Rule:
    return Rule.UNKNOWN_ENTITY if reason.startswith("there is no entity") else Rule.CRITERIA


def _rule_of_finding(field: str, reason: str) -> Rule:
    """The rule for a finding of the entity checks, by the field that it names."""
    parts = field.split(".")
    if reason.startswith("a cycle of containment"):
        return Rule.PLACEMENT
    if parts[-1] == "states":
        return Rule.MISSING_AFFORDANCE
    unknown = parts[-1] in ("class_name", "parent") or (parts[0] == "furniture" and len(parts) == 2)
    if unknown or (parts[0] == "people" and " unknown " in reason):
        return Rule.UNKNOWN_ENTITY
    return Rule.PLACEMENT


_LINTERS: list[Linter] = []


def _lint_here(path: str) -> FileReport:
    """Lints in a pool's process, which keeps its cache of houses."""
    if not _LINTERS:
        _LINTERS.append(Linter())
    return _LINTERS[0].lint(Path(path))


def lint_files(paths: Sequence[Path], processes: int = 0) -> Iterator[FileReport]:
    """Lints files in their order.

    Args:
        paths: episode files.
        processes: number of processes; 0 = one per core, if there are enough files.
    """
    workers = processes or min(os.cpu_count() or 1, len(paths) // _FILES_A_PROCESS)
    if workers <= 1:
        yield from map(Linter().lint, paths)
        return
    with ProcessPoolExecutor(workers) as pool:
        yield from pool.map(_lint_here, map(str, paths), chunksize=50)


# `planner episodes lint`: checks files and prints the findings as text or JSON.

OUTPUT_VERSION = 1


def run_lint(args: argparse.Namespace, solve: Solve | None, play: Solve | None = None) -> int:
    """Lints and prints.

    Args:
        args: the command line's.
        solve: runs the planner on an episode for `--solve`.
        play: carries an episode's reference plan out; None: none is played.

    Returns:
        0; 1 if an error (with --strict: anything) was found.
    """
    if args.rules:
        print("\n".join(f"{rule:18}  {SENTENCES[rule]}" for rule in Rule))
        return 0
    if args.solve and solve is None:
        raise PlannerError("nothing here can run a planner: use the command planner episodes lint")
    paths = episode_files(args.places) if args.places else shipped_episodes()
    if not paths:
        raise PlannerError("the given files and folders have no episode")
    reports = lint_files(paths, args.processes)
    if play is not None:
        reports = _played(reports, play)
    if args.solve and solve is not None:
        reports = _solved(reports, solve)
    return _print_json(reports, args.strict) if args.json else _print_reports(reports, args.strict)


def episode_files(places: Sequence[Path]) -> list[Path]:
    """The episode files among files and folders, in order.

    Raises:
        PlannerError: for a place that does not exist, or a broken pack.
    """
    found: list[Path] = []
    for place in map(opened, places):
        if place.is_dir():
            found += sorted(p for p in place.glob("*.json") if p.name != REPORT_NAME)
        elif place.exists():
            found.append(place)
        else:
            raise PlannerError(f"{place}: there is no such file or folder")
    return found


def _played(reports: Iterable[FileReport], play: Solve) -> Iterator[FileReport]:
    """Carries out each reference plan of an episode without an error."""
    for report in reports:
        if report.has_plan and not report.errors:
            reason = play(Path(report.file))
            findings = report.findings
            if reason:
                finding = LintFinding(Rule.REFERENCE_PLAN, "criteria.reference_calls", reason)
                findings = (*findings, finding)
            report = replace(report, findings=findings, plan_holds=not reason)
        yield report


def _solved(reports: Iterable[FileReport], solve: Solve) -> Iterator[FileReport]:
    """Runs each episode that has no error and can be judged; leaves others unchanged."""
    for report in reports:
        unusable = {Rule.NO_EVALUATION, Rule.NEEDS_SCENE} & {f.rule for f in report.findings}
        if not report.errors and not unusable:
            reason = solve(Path(report.file))
            if reason:
                finding = LintFinding(Rule.UNSOLVED, "", reason)
                report = replace(report, findings=(*report.findings, finding))
        yield report


def _print_reports(reports: Iterable[FileReport], strict: bool) -> int:
    files = errors = warnings = 0
    played: list[bool] = []
    for report in reports:
        played += [] if report.plan_holds is None else [report.plan_holds]
        files += 1
        errors += report.errors
        warnings += report.warnings
        for finding in report.findings:
            print(f"{report.file}: {finding}")
    print(f"{files} episodes: {errors} errors, {warnings} warnings")
    if played:
        print(f"reference plans: {sum(played)} of {len(played)} meet their criteria")
    return 1 if errors or (strict and warnings) else 0


def _print_json(reports: Iterable[FileReport], strict: bool) -> int:
    done = list(reports)
    errors = sum(report.errors for report in done)
    warnings = sum(report.warnings for report in done)
    document = {
        "version": OUTPUT_VERSION,
        "files": len(done),
        "errors": errors,
        "warnings": warnings,
        "reports": [_record(report) for report in done],
    }
    print(json.dumps(document, indent=1, ensure_ascii=False))
    return 1 if errors or (strict and warnings) else 0


def _record(report: FileReport) -> dict[str, object]:
    return {
        "file": report.file,
        "episode_id": report.episode_id,
        "reference_plan": report.plan_holds,
        "findings": [
            {
                "rule": finding.rule.value,
                "severity": finding.severity.value,
                "field": finding.field,
                "reason": finding.reason,
            }
            for finding in report.findings
        ],
    }
