"""`planner episodes lint`: checks files and prints the findings as text or JSON."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from planner.episodes.episode_file import REPORT_NAME
from planner.episodes.lint.arguments import Solve
from planner.episodes.lint.linting import FileReport, lint_files
from planner.episodes.lint.rules import SENTENCES, LintFinding, Rule
from planner.episodes.pack import opened
from planner.episodes.recipes.build import shipped_episodes
from planner.world.errors import PlannerError

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
