"""`planner demo-spot`: the four tasks of the paper's real-robot runs on an emulated Spot.

As in the paper (EPM-1.4, EPM-5 and EPM-6.7) each task is run several times with its objects at
random places on their furniture; grasps slip, the gripper sticks, and perception sometimes never
notices an object. A table at the end reports two rates:

- planning success: the plan was right even if a skill failed, so if every skill call had
  succeeded, the goal would hold;
- execution success: the goal holds in the true world.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import yaml

from planner.bringup import NodeSpec, node_list
from planner.bringup_arguments import ARGUMENTS, Arguments
from planner.command_line import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, add_model_flags
from planner.demo import story_writer
from planner.evaluation.progress import Mode
from planner.evaluation.task import Predicate
from planner.evaluation.trace import EpisodeTrace
from planner.replay.judging import check_bag
from planner.replay.runs import Request
from planner.up import run_nodes
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.geometry import Pose
from planner.world.house import House, ObjectPlacement
from planner.world.house_checks import load_episode
from planner.world.share import config_dir
from planner.world.vocabulary import Relation
from sim_bridge.spot.bad_day_forms import has_sdk

LOG_FILE = "log.txt"
_HEAD = f"{'task':<24} seed  planned  live     {'bag':<17}  complete  calls  failed  never seen"
_MAX_ATTEMPTS = 60
# Every ten of the paper's simulation steps, the memory's update period.
CAMERA_HZ = "3.0"
_CALL = re.compile(r"(\w+)\[(.*)\]")
_RELATIONS: dict[str, str] = {Predicate.IS_ON_TOP: "on", Predicate.IS_INSIDE: "within"}
_PLANNERS = next(a.choices for a in ARGUMENTS if a.name == "planner")
_MEMORIES = next(a.choices for a in ARGUMENTS if a.name == "memory")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("tasks", nargs="*", type=Path, help="episode files; default: the four")
    parser.add_argument("--runs", type=int, default=5, help="runs of each task")
    parser.add_argument("--seed", type=int, default=1, help="seed of the first run")
    parser.add_argument(
        "--planner", default="expert", choices=[p for p in _PLANNERS if p not in ("none", "tour")]
    )
    parser.add_argument("--memory", default="auto", choices=[m for m in _MEMORIES if m != "none"])
    add_model_flags(parser, "language model of the planner")
    parser.add_argument("--slips", type=_share, default=0.3, help="fraction of grasps that slip")
    parser.add_argument("--sticks", type=_share, default=0.1, help="fraction of places that stick")
    parser.add_argument(
        "--overlooked",
        type=_share,
        default=0.2,
        help="fraction of runs in which one object is never seen",
    )
    parser.add_argument(
        "--max-calls",
        type=_count,
        default=25,
        help="planner calls per run; more are a search for an object that is never seen",
    )
    parser.add_argument("-o", "--output", default="", help="folder; default demo_output/TIME_spot")


def _share(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"expected 0 to 1, got {text}")
    return value


def _count(text: str) -> int:
    if not (text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"expected a whole number of 1 or more, got {text}")
    return int(text)


@dataclass(frozen=True, slots=True)
class Run:
    """The result of one run.

    `planned`: None if the goal says nothing about plans. `live`: the live verdict, None if there
    was none; `executed`: the bag's verdict, from which the rates are computed.
    """

    task: str
    seed: int
    planned: bool | None
    live: bool | None
    executed: bool
    agrees: bool
    complete: float
    calls: int
    failed_calls: int
    overlooked: str


def run(args: argparse.Namespace) -> int:
    """Run all tasks, print a line for each run and the table.

    0 if every run has a verdict and all bags agree with the live verdicts.

    A signal that ends a run ends the series; the table has the runs completed until then.
    """
    if args.runs < 1:
        raise PlannerError("--runs: at least 1")
    if not has_sdk():
        raise PlannerError("demo-spot needs the Spot SDK: make spot (read its licence first)")
    tasks = args.tasks or sorted((config_dir() / "spot_scenarios").glob("*.json"))
    stamp = time.strftime("%Y%m%d_%H%M%S")
    output = Path(args.output or f"demo_output/{stamp}_spot").resolve()
    done: list[Run] = []
    broken = 0
    wanted = [(task, args.seed + number) for task in tasks for number in range(args.runs)]
    print(_HEAD, flush=True)
    for task, seed in wanted:
        try:
            ended = _run_once(args, task, seed, output / f"{task.stem}_{seed}")
        except PlannerError as error:
            broken += 1
            print(f"{task.stem:<24} {seed:>4}  {error}", flush=True)
            continue
        if ended is None:
            print(f"{task.stem:<24} {seed:>4}  stopped; the series ends here", flush=True)
            break
        done.append(ended)
        print(_line(ended), flush=True)
    print("\n".join(table(done)))
    if done:
        record = [{name: getattr(r, name) for name in Run.__slots__} for r in done]
        (output / "runs.json").write_text(json.dumps(record, indent=1), encoding="utf-8")
    print(last_line(done, broken), flush=True)
    if len(done) + broken < len(wanted):
        return EXIT_INTERRUPTED
    return EXIT_FAILED if broken or not all(r.agrees for r in done) else EXIT_OK


def last_line(done: Sequence[Run], broken: int) -> str:
    """Live and bag verdicts of all runs."""
    differ = [f"{r.task} {r.seed}" for r in done if not r.agrees]
    same = f"DIFFERENT in {', '.join(differ)}" if differ else "the same in each run"
    failed = f"; {broken} not judged" if broken else ""
    live, bag = sum(bool(r.live) for r in done), sum(r.executed for r in done)
    return f"verdicts: live {live} of {len(done)}, bags {bag} of {len(done)}, {same}{failed}"


def _run_once(args: argparse.Namespace, task: Path, seed: int, folder: Path) -> Run | None:
    """One run with its verdict; None if a signal ended it."""
    rng = random.Random(f"{task.stem}/{seed}")
    folder.mkdir(parents=True, exist_ok=True)
    episode = folder / f"{task.stem}.json"
    things = shuffle(task, episode, rng)
    missed = rng.choice(things) if rng.random() < args.overlooked else ""
    settings = folder / "spot.yaml"
    settings.write_text(yaml.safe_dump(backend_settings(args, missed)), encoding="utf-8")
    arguments = Arguments.from_text(
        {
            "backend": "spot_emulator",
            "backend_config": str(settings),
            "planner": args.planner,
            "memory": args.memory,
            "model": args.model,
            "model_url": args.model_url,
            "episode": str(episode),
            "seed": str(seed),
            "record": str(folder),
            "narrate": "true",
            "paced": "false",
            "camera_hz": CAMERA_HZ,
        }
    )
    status = run_nodes(
        nodes(arguments, args.max_calls),
        partial(story_writer, folder / LOG_FILE, io.StringIO()),
        stopped_status=EXIT_INTERRUPTED,
    )
    if status == EXIT_INTERRUPTED:
        return None
    found = check_bag(folder, Request(Mode.STRICT, str(episode), True, True))
    found.say_lacks()
    judged = found.judged
    if judged is None or judged.trace is None:
        raise PlannerError(f"not judged: {found.text}; see {folder / LOG_FILE}")
    return Run(
        task.stem,
        seed,
        is_plan_right(judged.trace),
        judged.live.success if judged.live else None,
        judged.verdict.success,
        found.agrees,
        judged.verdict.percent_complete,
        len(judged.trace.calls),
        sum(not call.succeeded for call in judged.trace.calls),
        missed,
    )


def nodes(arguments: Arguments, max_calls: int) -> tuple[NodeSpec, ...]:
    """The nodes of `planner up`, with a task planner limited to so many calls."""
    return tuple(
        replace(node, parameters={**node.parameters, "max_calls": max_calls})
        if node.name == "task_planner"
        else node
        for node in node_list(arguments)
    )


def backend_settings(args: argparse.Namespace, missed: str) -> dict[str, object]:
    """config/spot.yaml with the layout of the task's house and the faults."""
    path = config_dir() / "spot.yaml"
    settings: dict[str, object] = yaml.safe_load(path.read_text(encoding="utf-8"))
    settings["layout"] = str(config_dir() / "spot_scenarios" / "train_0_layout.yaml")
    settings["noise"] = {"failed_grasps": args.slips, "failed_places": args.sticks}
    settings["troubles"] = [{"kind": "overlook", "name": missed}] if missed else []
    return settings


# Object placement


def shuffle(task: Path, output: Path, rng: random.Random) -> list[str]:
    """Writes a copy of a task with its objects elsewhere on the same furniture.

    Returns:
        Names of the objects.

    Raises:
        PlannerError: if the task is invalid or there is no free place.
    """
    episode, house = load_episode(task)
    things = [name for name in _goal_objects(episode) if _on_furniture(episode, house, name)]
    objects = {item.name: item for item in episode.objects}
    for _ in range(_MAX_ATTEMPTS):
        moved = {name: _moved(objects[name], house, rng) for name in things}
        changed = tuple(moved.get(item.name, item) for item in episode.objects)
        text = episode.model_copy(update={"objects": changed}).model_dump_json(exclude_unset=True)
        output.write_text(text, encoding="utf-8")
        try:
            load_episode(output)
        except PlannerError:
            continue
        return things
    raise PlannerError(f"{task}: no free places for {', '.join(things)}")


def _goal_objects(episode: Episode) -> list[str]:
    goals = (episode.evaluation or {}).get("propositions", [])
    found: list[str] = []
    for goal in goals if isinstance(goals, list) else []:
        arguments = goal.get("args") if isinstance(goal, dict) else None
        names = arguments.get("objects") if isinstance(arguments, dict) else None
        found += [str(name) for name in names] if isinstance(names, list) else []
    return found


def _on_furniture(episode: Episode, house: House, name: str) -> bool:
    item = next((o for o in episode.objects if o.name == name), None)
    return (
        item is not None and item.relation is Relation.ON and item.parent in house.furniture_by_name
    )


def _moved(item: ObjectPlacement, house: House, rng: random.Random) -> ObjectPlacement:
    piece = house.furniture_by_name[item.parent]
    surface = next(s for s in piece.surfaces if s.name == item.part)
    edge = max(item.size_m[:2]) / 2 + 0.01
    half = [max(0.0, size / 2 - edge) for size in surface.size]
    x, y = (rng.uniform(-h, h) for h in half)
    cx, cy, cz = surface.center
    place: Pose = piece.pose
    at = place.apply((cx + x, cy + y, cz))
    yaw = item.pose[3]
    return item.model_copy(update={"pose": (round(at[0], 4), round(at[1], 4), item.pose[2], yaw)})


# Evaluation


def is_plan_right(trace: EpisodeTrace) -> bool | None:
    """Whether the goal would hold if every skill call had succeeded.

    An object is where the last Place after its Pick puts it. Only goals about objects on and inside
    furniture are supported. If the goal holds, the plan was right: the call that achieved it may
    have been running when the run ended.
    """
    if trace.end.success:
        return True
    if any(asked.predicate not in _RELATIONS for asked in trace.episode.propositions):
        return None
    held: dict[str, str] = {}
    places: dict[str, tuple[str, str]] = {}
    for agent, verb, words in _skill_calls(trace):
        if verb == "Pick" and words:
            held[agent] = words[0]
            places.pop(words[0], None)
        elif verb in ("Place", "Rearrange") and len(words) >= 3:
            if verb == "Rearrange" or held.get(agent) == words[0]:
                places[words[0]] = (words[1], words[2])
            held.pop(agent, None)
    for asked in trace.episode.propositions:
        things, receptacles = asked.lists[0], asked.lists[1]
        wanted = {(_RELATIONS[asked.predicate], receptacle) for receptacle in receptacles}
        if sum(places.get(thing) in wanted for thing in things) < asked.number:
            return False
    return True


def _skill_calls(trace: EpisodeTrace) -> Iterator[tuple[str, str, list[str]]]:
    for call in sorted(trace.calls, key=lambda c: (c.ended_step, c.started_step)):
        found = _CALL.fullmatch(call.call)
        if found is not None:
            yield call.agent, found[1], [word.strip() for word in found[2].split(",")]


def _line(done: Run) -> str:
    words = {True: "success", False: "failure", None: "-"}
    planned = {True: "yes", False: "no", None: "-"}[done.planned]
    bag = words[done.executed] + ("" if done.agrees else " DIFFERENT")
    return (
        f"{done.task:<24} {done.seed:>4}  {planned:<7}  {words[done.live]:<7}  {bag:<17}  "
        f"{done.complete:>8.2f}  {done.calls:>5}  {done.failed_calls:>6}  {done.overlooked}"
    )


def table(runs: Sequence[Run]) -> list[str]:
    """Planning and execution success by task and overall, as fractions of the runs."""
    lines = [f"{'task':<24} runs  planning success  execution success"]
    tasks = sorted({done.task for done in runs})
    for name in (*tasks, "all"):
        chosen = [done for done in runs if name in (done.task, "all")]
        judged = [done for done in chosen if done.planned is not None]
        planned, executed = sum(bool(r.planned) for r in judged), sum(r.executed for r in chosen)
        lines.append(
            f"{name:<24} {len(chosen):>4}  {_percent(planned, len(judged)):>16}  "
            f"{_percent(executed, len(chosen)):>17}"
        )
    return lines


def _percent(count: int, of: int) -> str:
    return f"{count / of:.0%} ({count}/{of})" if of else "-"
