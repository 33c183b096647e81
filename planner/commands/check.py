"""`planner check KIND NAME`: the published check of a kind of parts."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from planner.app.memory_check import check_memory
from planner.app.planner_check import check_metric, check_model, check_planner
from planner.app.skill_check import check_skill
from planner.bench.runs.manifest import find_suite
from planner.bench.suite import SUITES
from planner.command_line import add_model_flags, add_option_flags, add_url_flag, read_option_flags
from planner.memory.part import UPDATERS, UpdaterModel, UpdaterRequest
from planner.models.chat import MODELS
from planner.models.model_choice import ModelChoice, make_model, model_forms
from planner.parts.option import read_options
from planner.planning.part import PLANNERS, PlannerChoice
from planner.world.errors import PlannerError
from planner.world.house_checks import load_episode, load_house
from planner.world.skill import CallError
from sim_bridge import conformance

EPISODE = "night_light_0"
HOUSE = "train_0"
# Has a robot, a person, faucets, lamps and things to fill.
SKILL_EPISODE = "coffee_time_0"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares a subcommand a kind."""
    kinds = parser.add_subparsers(dest="kind", metavar="KIND", required=True)
    planner = kinds.add_parser("planner", help="run it on an episode of the embedded simulator")
    planner.add_argument("name", metavar="NAME", help="name of the planner")
    planner.add_argument("--episode", default=EPISODE, help=f"name or file; default: {EPISODE}")
    add_model_flags(planner, "as for planner bench")
    planner.set_defaults(check=_check_planner)
    memory = kinds.add_parser("memory", help="run a memory updater on a tour of a house")
    memory.add_argument("name", metavar="NAME", help="name of the updater")
    memory.add_argument("--house", default=HOUSE, help=f"name or file; default: {HOUSE}")
    add_model_flags(memory, "a folder, or the model's name on the server")
    memory.add_argument("--model-second", default="", help="folder of the second model")
    memory.set_defaults(check=_check_memory)
    skill = kinds.add_parser("skill", help="run it on an episode of the embedded simulator")
    skill.add_argument("name", metavar="NAME", help="name of the skill, as in calls")
    skill.add_argument("--episode", default=SKILL_EPISODE, help=f"default: {SKILL_EPISODE}")
    skill.add_argument("--call", default="", help="one that should succeed; default: made up")
    skill.add_argument(
        "--before",
        action="append",
        default=[],
        metavar="CALL",
        help="what makes it possible; repeatable; of another agent as agent_1: CALL",
    )
    skill.set_defaults(check=_check_skill)
    metric = kinds.add_parser("metric", help="compute it on two episodes of the embedded simulator")
    metric.add_argument("name", metavar="NAME", help="name of the metric")
    metric.add_argument("--episode", default=EPISODE, help=f"name or file; default: {EPISODE}")
    metric.set_defaults(check=_check_metric)
    suite = kinds.add_parser("suite", help="check that its episodes can be read and judged")
    suite.add_argument("name", metavar="NAME", help="name of the suite")
    suite.set_defaults(check=_check_suite)
    model = kinds.add_parser("model", help="ask a chat model some questions")
    model.add_argument("name", metavar="NAME", help=model_forms())
    add_url_flag(model)
    add_option_flags(model.add_argument_group("options"), MODELS.options())
    model.set_defaults(check=_check_model)
    backend = kinds.add_parser("backend", help="in a house, with an episode or without")
    conformance.add_arguments(backend)
    backend.set_defaults(check=conformance.run)
    robot = kinds.add_parser(
        "robot", help="whether settings of the backend ros fit a robot; sends it nothing"
    )
    robot.add_argument("file", type=Path, metavar="FILE", help="the robot's settings")
    robot.add_argument(
        "--urdf", type=Path, help="against this description; default: the running robot"
    )
    robot.add_argument(
        "--no-reach", action="store_true", help="leave out where the arm gets to, which takes long"
    )
    robot.set_defaults(check=_check_robot)


def run(args: argparse.Namespace) -> int:
    """0 where nothing failed, else 1."""
    status: int = args.check(args)
    return status


def _check_robot(args: argparse.Namespace) -> int:
    # Kinematics take a second to load.
    from sim_bridge.ros.check import check_robot

    report = check_robot(args.file, args.urdf, reach=not args.no_reach)
    print(report.table())
    return 0 if report.conforms else 1


def _check_planner(args: argparse.Namespace) -> int:
    PLANNERS.get(args.name)
    episode, house = load_episode(args.episode)
    model = make_model(ModelChoice(args.model, args.model_url))
    report = check_planner(PlannerChoice(args.name), house, episode, model)
    print(report.table())
    return 0 if report.conforms else 1


def _check_memory(args: argparse.Namespace) -> int:
    part = UPDATERS.get(args.name)
    model = UpdaterModel(args.model, args.model_url, args.model_second)
    request = UpdaterRequest(args.name, model, options=read_options(part.options, {}))
    report = check_memory(request, load_house(args.house))
    print(report.table())
    return 0 if report.conforms else 1


def _check_skill(args: argparse.Namespace) -> int:
    episode, house = load_episode(args.episode)
    try:
        report = check_skill(args.name, house, episode, args.call, args.before)
    except CallError as error:
        raise PlannerError(f"--call: {error}") from error
    print(report.table())
    return 0 if report.conforms else 1


def _check_metric(args: argparse.Namespace) -> int:
    episode, house = load_episode(args.episode)
    report = check_metric(args.name, house, episode)
    print(report.table())
    return 0 if report.conforms else 1


def _check_suite(args: argparse.Namespace) -> int:
    SUITES.get(args.name)
    found = find_suite(args.name)
    print(f"{args.name}: {len(found)} episodes in {len({each.house for each in found})} houses")
    return 0


def _check_model(args: argparse.Namespace) -> int:
    choice = ModelChoice(args.name, args.model_url)
    options = read_option_flags(args, choice.name, MODELS.options())
    report = check_model(replace(choice, options=options))
    print(report.table())
    return 0 if report.conforms else 1
