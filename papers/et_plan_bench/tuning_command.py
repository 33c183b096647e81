"""`planner train et-ranking` and `et-sft`: ET-Plan-Bench's models (docs/et_plan.md)."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from papers.et_plan_bench.generation.categories import HomeSplit, homes
from papers.et_plan_bench.questions import PLANNER, QuestionCounts, questions_of, write_questions
from papers.et_plan_bench.ranking_scores import check_training_houses, house_truth
from papers.et_plan_bench.ranking_training import RankingRecipe
from papers.et_plan_bench.ranking_weights import (
    RankingData,
    make_ranking,
    rank_by_model,
    score_text,
    write_json,
)
from planner.bench.runs.engines import add_engine_flags, make_engine
from planner.bench.runs.manifest import SuiteEpisode, find_suite, jobs_of, new_manifest
from planner.bench.runs.rows import ROWS_NAME, Row, newest_rows
from planner.bench.runs.runner import run_jobs
from planner.bench.runs.settings import RunSettings
from planner.commands.planner_training import add_tuning, targets_of, tuning_of
from planner.models.model_choice import absolute, model_forms
from planner.parts.command import CommandPart
from planner.training.chat_tuning import Trained, Tuned, read_chats, tune_chats
from planner.training.tuning import TuningProgress, TuningRecipe
from planner.world.errors import FileError, PlannerError
from planner.world.house_checks import load_episode

# The paper gives no numbers for its tuning (ETPLAN-D73).
SFT_RECIPE = TuningRecipe(rate=2e-4, alpha=32, rank=16, dropout=0.05, batch=16, epochs=3)
# What a model is taught; the other categories stay unseen (ETPLAN-4.7).
TAUGHT = ("navigation", "navigation_relation", "manipulation", "manipulation_relation")
RUNS, QUESTIONS, SCORES, BEFORE, AFTER = "runs", "questions", "scores.json", "before", "after"
_OWN = {RUNS, QUESTIONS, SCORES, "tuning.pt", "tuning.pt.part", "adapter", "model"}
Scores = dict[str, object]


def add_et_sft(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of `planner train et-sft`."""
    parser.add_argument("suite", help="tasks in training houses, of generate et-plan")
    parser.add_argument("--model", type=Path, required=True, help="folder of the base model")
    parser.add_argument("--out", type=Path, required=True, help="folder; resumes there")
    parser.add_argument(
        "--test", metavar="SUITE", help="tasks in test houses, solved before and after the tuning"
    )
    parser.add_argument(
        "--teacher", default="teacher", metavar="M", help=f"who answers: {model_forms()}"
    )
    parser.add_argument("--teacher-url", default="", metavar="URL", help="of its server, .../v1")
    parser.add_argument(
        "--houses", type=int, default=10, help="of test, in which rankings are asked for; 0 = none"
    )
    parser.add_argument(
        "--questions", type=int, default=0, help="classes asked about in each of them; 0 = all"
    )
    add_engine_flags(parser.add_argument_group("runs of the agent"))
    add_tuning(parser, SFT_RECIPE)


def run_et_sft(args: argparse.Namespace) -> int:
    """Runs the agent, writes the questions, tunes, and prints scores before and after."""
    most = len(homes(HomeSplit.TEST))
    if not 0 <= args.houses <= most or args.questions < 0:
        raise PlannerError(f"expected --houses from 0 to {most}, --questions from 0")
    recipe = tuning_of(args)
    _check_folder(args.out)
    if not (args.model / "config.json").is_file():
        raise PlannerError(f"{args.model}: is not a model folder: no config.json")
    suite = taught(find_suite(args.suite))
    test = find_suite(args.test) if args.test else ()
    shards = _questions(args, suite)
    scores = {BEFORE: _scores(args, BEFORE, Tuned(args.model, None), test)}
    tuned = tune_chats(
        read_chats(shards),
        args.model,
        args.out,
        recipe,
        _print_progress,
        trained=Trained(args.trained),
        targets=targets_of(args),
    )
    scores[AFTER] = _scores(args, AFTER, tuned, test)
    write_json(args.out / SCORES, scores)
    for when, found in scores.items():
        for line in lines_of(found):
            _print(f"{when}: {line}")
    adapter = f" --adapter {tuned.adapter}" if tuned.adapter is not None else ""
    _print(f"use: --planner {PLANNER} --model local:{tuned.model}{adapter}")
    return 0


def _check_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise FileError(folder, "", "is not a folder")
    held = {found.name for found in folder.iterdir()} if folder.exists() else set()
    if others := sorted(held - _OWN):
        raise FileError(folder, "", f"holds something else: {others[0]}")


def taught(suite: Sequence[SuiteEpisode]) -> tuple[SuiteEpisode, ...]:
    """The tasks of the categories that are taught.

    Raises:
        PlannerError: naming the first house that is not to be trained on; if no task is left.
    """
    kept = []
    for entry in suite:
        episode, house = load_episode(entry.path)
        check_training_houses([house])
        if episode.criteria is not None and episode.criteria.category in TAUGHT:
            kept.append(entry)
    if not kept:
        raise PlannerError(f"no task is of a category that is taught: {', '.join(TAUGHT)}")
    return tuple(kept)


def _questions(args: argparse.Namespace, suite: Sequence[SuiteEpisode]) -> list[Path]:
    """The shards of questions that the teacher answered."""
    folder = args.out / RUNS / "teacher"
    rows = _run(args, args.suite, suite, _settings(absolute(args.teacher), args), folder)
    solved = sum(row.verdict is not None and row.verdict.success for row in rows)
    _print(f"teacher: {solved} of {len(rows)} tasks solved")
    gathered = questions_of(folder)
    about = {"episodes": len(suite), "teacher": next((row.model for row in rows), args.teacher)}
    shards = write_questions(args.out / QUESTIONS, gathered, about)
    _print(f"{args.out / QUESTIONS}: {QuestionCounts.of(gathered)}")
    return shards


def _settings(
    model: str, args: argparse.Namespace, options: Mapping[str, str] | None = None
) -> RunSettings:
    return RunSettings(
        planner=PLANNER,
        backend="graph",
        model=model,
        model_url="" if options is not None else args.teacher_url,
        model_options=options or {},
        agents=1,
        options={"ranker": "model"},
    )


def _run(
    args: argparse.Namespace,
    name: str,
    suite: Sequence[SuiteEpisode],
    settings: RunSettings,
    folder: Path,
) -> list[Row]:
    settings.check()
    jobs = jobs_of(suite, 0, 0)
    folder.parent.mkdir(parents=True, exist_ok=True)
    manifest = new_manifest(name, suite, len(jobs), settings)
    run_jobs(folder, manifest, jobs, make_engine(args, settings), _ignore)
    return list(newest_rows(folder / ROWS_NAME).values())


def _scores(
    args: argparse.Namespace, when: str, model: Tuned, test: Sequence[SuiteEpisode]
) -> Scores:
    """Rankings in the test houses, and success in the test tasks by category."""
    found: Scores = {}
    if args.houses:
        chosen = homes(HomeSplit.TEST)[: args.houses]
        found["ranking"] = rank_by_model(
            model.model,
            [house_truth(home.make()) for home in chosen],
            adapter=model.adapter,
            device=args.device,
            questions=args.questions,
        )
    if test:
        options = {"device": args.device}
        if model.adapter is not None:
            options["adapter"] = str(model.adapter.absolute())
        settings = _settings(f"local:{model.model.absolute()}", args, options)
        rows = _run(args, args.test, test, settings, args.out / RUNS / when)
        found["success"] = success_by_category(test, rows)
    return found


def success_by_category(test: Sequence[SuiteEpisode], rows: Sequence[Row]) -> dict[str, object]:
    """By category: whether it was taught, how many tasks, and how many of them were solved."""
    solved = {row.episode_id for row in rows if row.verdict is not None and row.verdict.success}
    found: dict[str, dict[str, object]] = {}
    counts: dict[str, list[bool]] = {}
    for entry in test:
        criteria = load_episode(entry.path)[0].criteria
        category = criteria.category if criteria is not None else ""
        counts.setdefault(category, []).append(entry.episode_id in solved)
    for category, each in sorted(counts.items()):
        found[category] = {"taught": category in TAUGHT, "tasks": len(each), "solved": sum(each)}
    return dict(found)


def lines_of(scores: Scores) -> list[str]:
    """Scores as lines."""
    lines = []
    ranking, success = scores.get("ranking"), scores.get("success")
    if isinstance(ranking, dict):
        lines += [f"{what}: {score_text(ranking[what])}" for what in ("rooms", "furniture")]
    if isinstance(success, dict):
        lines += [
            f"{category}{'' if one['taught'] else ' (not taught)'}: {one['solved']} of "
            f"{one['tasks']} solved"
            for category, one in success.items()
        ]
    return lines


def _print_progress(at: TuningProgress) -> None:
    _print(f"step {at.step} of {at.steps}: loss {at.loss:.4f}, {at.elapsed_s:.0f} s")


def _ignore(_row: Row, _count: int, _of: int) -> None:
    pass


def _print(line: str) -> None:
    print(line, flush=True)


def add_et_ranking(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of `planner train et-ranking`."""
    recipe, data = RankingRecipe(), RankingData()
    parser.add_argument("--out", type=Path, required=True, help="folder of model and scores")
    parser.add_argument(
        "--more", type=int, default=data.more, help="generated houses besides the 34 of training"
    )
    parser.add_argument(
        "--house", action="append", default=[], help="a further house, name or file (repeatable)"
    )
    parser.add_argument("--epochs", type=int, default=recipe.epochs)
    parser.add_argument("--rate", type=float, default=recipe.rate, help="highest learning rate")
    parser.add_argument("--seed", type=int, default=recipe.seed)
    parser.add_argument(
        "--no-test", action="store_true", help="scores in the validation houses only"
    )


def run_et_ranking(args: argparse.Namespace) -> int:
    """Trains it, and writes the model and its scores."""
    recipe = RankingRecipe(epochs=args.epochs, rate=args.rate, seed=args.seed)
    data = RankingData(args.more, tuple(args.house), test=not args.no_test)
    path = make_ranking(args.out, data, recipe, _print)
    print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")
    return 0


RANKING = CommandPart("ET-Plan-Bench's model of where things are", add_et_ranking, run_et_ranking)
SFT = CommandPart("a language model that answers et_agent's questions", add_et_sft, run_et_sft)
