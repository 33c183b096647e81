"""`planner demo`: a household task given in words, carried out over ROS, with a verdict."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TextIO

import yaml

from planner.bringup import NodeSpec, node_list
from planner.bringup_arguments import ARGUMENTS, RECORD_LIMITS, Arguments
from planner.command_line import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    add_model_flags,
    add_seconds_flag,
    add_sensors_flag,
)
from planner.memory.part import UPDATERS
from planner.models.chat import MODEL_DEADLINE
from planner.planning.part import PLANNERS
from planner.replay.judging import check_bag
from planner.up import require_files, run_nodes
from planner.world.errors import PlannerError
from planner.world.files import writing
from planner.world.share import config_dir
from planner.world.topics import UNRECORDED
from sim_bridge.backend import BACKENDS

# The log of a demo: everything in a file; the story, warnings and errors on the screen.

# The nodes that print the story; their lines are shown without a prefix.
STORY_NODES = ("narrator", "tour")
_LEVEL = re.compile(r"\[(DEBUG|INFO|WARN|ERROR|FATAL)\] \[[\d.]+\] \[[^\]]*\]: ")
# Matches `planner.narrator.story.moving_line`.
_FIRST_MOTION = re.compile(r" is moving$")
# Prefix by which `planner.ros.lifecycle` reports what ends a node.
_ERROR = "error: "
# Lines of the supervisor to show; starts and normal ends are not among them.
_NEWS = re.compile(r"died|cannot|giving up|still there|stopping")


def is_news(name: str, text: str) -> bool:
    """Whether a line is shown on the screen: the story, warnings, and lines without a level."""
    level = _LEVEL.match(text)
    if level is not None:
        return level[1] not in ("DEBUG", "INFO")
    return bool(_NEWS.search(text)) if name == "planner" else bool(text.strip())


def story_writer(
    log: Path, out: TextIO, is_hidden: Callable[[str, str], bool] | None = None
) -> Callable[[str, str], None]:
    """A function that takes the output lines of a run, each with the name of its source.

    Adds the seconds since the start to the line that reports the first motion.

    Args:
        log: the file for all lines.
        out: the screen.
        is_hidden: whether a line is to be kept off the screen.

    Raises:
        PlannerError: if the file cannot be written.
    """
    with writing(log):
        log.parent.mkdir(parents=True, exist_ok=True)
        file = log.open("a", encoding="utf-8")

    begun_s = time.monotonic()
    # Every node reports an invalid episode; show it once.
    errors: set[str] = set()

    def write(name: str, text: str) -> None:
        if name in STORY_NODES and _FIRST_MOTION.search(text):
            text = f"{text}, {time.monotonic() - begun_s:.1f} s after the start"
        try:
            file.write(f"[{name}] {text}\n")
            file.flush()
        except OSError:
            # A full disk ends the log, not the run; the recorder reports it.
            pass
        if is_hidden is not None and is_hidden(name, text):
            return
        if is_news(name, text) and text not in errors:
            if text.startswith(_ERROR):
                errors.add(text)
            out.write(f"{text}\n" if name in STORY_NODES else f"[{name}] {text}\n")
            out.flush()

    return write


# Answers typed on the terminal of a demo, passed on to the instruction that it follows.

# The line of `planner.narrator.story.question_line`.
_QUESTION = re.compile(r"^[\d:]+  question: ")
PROMPT = "       type the answer, then Enter"


def send_answer(text: str) -> None:
    """Sends an answer by `planner answer`, which reports errors itself."""
    # A process of its own: a demo has none with ROS that outlives a restarted node.
    subprocess.run([sys.executable, "-m", "planner.cli", "answer", text], check=False)


class TypedAnswers:
    """Reads a line for each question that is not answered beforehand."""

    def __init__(
        self,
        terminal: TextIO,
        screen: TextIO,
        given: int = 0,
        send: Callable[[str], None] = send_answer,
    ) -> None:
        """Starts to read with the first question.

        Args:
            terminal: where answers are typed, a line each.
            screen: where it is said that one is waited for.
            given: questions that others answer, before all that are asked here.
            send: passes on an answer.
        """
        self._terminal, self._screen, self._send = terminal, screen, send
        self._given = given
        self._is_asked = threading.Event()
        self._reader: threading.Thread | None = None

    def take(self, name: str, text: str) -> None:
        """Takes a line of the story."""
        if name != "narrator" or not _QUESTION.match(text):
            return
        if self._given:
            self._given -= 1
            return
        self._is_asked.set()
        self._screen.write(f"{PROMPT}\n")
        self._screen.flush()
        if self._reader is None:
            self._reader = threading.Thread(target=self._read, daemon=True)
            self._reader.start()

    def _read(self) -> None:
        """Sends what is typed while a question is open; ends with the input."""
        for line in iter(self._terminal.readline, ""):
            if line.strip() and self._is_asked.is_set():
                self._is_asked.clear()
                self._send(line.strip())


DEFAULT_TASK = "demo_dinner"
DEFAULT_HOUSE = "train_3"
IN_WORDS_AGENTS = "2"
# Fast enough not to bore, slow enough to read along.
DEFAULT_PACE = 2.5
LOG_FILE = "log.txt"
# Wall seconds for an answer that is typed.
TYPING_WAIT_S = 300.0
# Prefixes of `planner.narrator.story.verdict_line` and `no_verdict_line`.
VERDICT = "verdict: "
NO_VERDICT = "verdict: none"
_PLANNERS, _MEMORIES = (
    next(a.choices for a in ARGUMENTS if a.name == name) for name in ("planner", "memory")
)
# What knows nothing beforehand but the instruction and the house; before a robot's stand-in the
# emulated robot is what is shown.
OF_WORDS, OF_GOALS, OF_PICTURES = "words", "expert", "learned"


def is_instruction(task: str) -> bool:
    """Whether a task is an instruction in words: no name, no path and no file."""
    if re.fullmatch(r"[A-Za-z0-9_./~+-]*", task):
        return False
    try:
        return not Path(task).is_file()
    except OSError:  # longer than a path can be
        return True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the demo's arguments."""
    parser.add_argument(
        "words",
        nargs="?",
        metavar="TASK",
        help="one of `planner episodes list`, its file, or an instruction in words",
    )
    parser.add_argument("--task", help=f"the same; default {DEFAULT_TASK}")
    parser.add_argument(
        "--agents",
        default="0",
        help="number of agents; 0 = as in the episode, or a robot and a person",
    )
    parser.add_argument(
        "--backend",
        default="embedded",
        choices=BACKENDS.names(),
        help="the world behind the bridge",
    )
    parser.add_argument(
        "--planner",
        default="",
        choices=[name for name in _PLANNERS if name != "none"],
        help=f"planner to use; default {OF_WORDS}, or {OF_GOALS} with a stand-in of a robot; "
        "tour = no task, a walk through a house",
    )
    parser.add_argument(
        "--memory",
        default="",
        choices=_MEMORIES,
        help=f"how the memory reads pictures; default {OF_PICTURES}, or as the stand-in needs",
    )
    parser.add_argument(
        "--answer",
        action="append",
        default=[],
        metavar="TEXT",
        help="answer to a question of the planner, repeatable; default: ask on the terminal, "
        "where there is one",
    )
    add_sensors_flag(parser)
    add_model_flags(parser, "language model, for planners that need one")
    add_seconds_flag(parser, MODEL_DEADLINE)
    parser.add_argument(
        "--adapter", default="", help="of a model that takes one: a shipped one's name, or a file"
    )
    parser.add_argument(
        "--house", default=DEFAULT_HOUSE, help="for the tour and for instructions in words"
    )
    parser.add_argument("--seed", default="0", help="random seed; 0 = the episode's")
    parser.add_argument(
        "--pace", default=f"{DEFAULT_PACE}", help="simulated seconds per second; 1 = real time"
    )
    parser.add_argument(
        "--console", action="store_true", help="serve a page to see and steer the robots"
    )
    parser.add_argument(
        "--voice", action="store_true", help="talk with the robots by this machine's sound card"
    )
    parser.add_argument("--fast", action="store_true", help="run as fast as possible")
    parser.add_argument(
        "--record-full",
        action="store_true",
        help="record every topic and picture as published: some 400 MB a minute at real time",
    )
    for name in RECORD_LIMITS:
        argument = next(each for each in ARGUMENTS if each.name == name)
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, default=argument.default, help=argument.description)
    parser.add_argument(
        "--no-pictures",
        action="store_true",
        help="neither record pictures nor put them into the story: cameras are rendered for the "
        "memory only, in much less time",
    )
    parser.add_argument(
        "-o", "--output", default="", help="folder for bag and picture; default demo_output/TIME"
    )


def privileges(planner: str, memory: str, *, in_words: bool) -> str:
    """What planner and memory know that no robot would, for the demo's first line.

    Args:
        planner: the value of the argument.
        memory: the same; auto is that of the planner.
        in_words: whether the task is an instruction without a goal.
    """
    part = PLANNERS.get(planner) if planner in PLANNERS.names() else None
    reads_goal = part is not None and (part.needs.goal or bool(part.reads.goal))
    name = "privileged" if memory == "auto" else memory
    sees_truth = name in UPDATERS.names() and UPDATERS.get(name).reads_truth("", {})
    knows = [f"the planner {planner} reads the task's goal"] if reads_goal and not in_words else []
    if sees_truth:
        knows.append(f"the memory {memory} reads the true world")
    return " and ".join(knows) or f"{planner} with {memory}: words and pictures only"


def run(args: argparse.Namespace) -> int:
    """Start the nodes, send the instruction, and wait for the verdict.

    Returns:
        0 only if the verdict is success and the bag's verdict is the same, or the tour ended well;
        130 after Ctrl-C.

    Raises:
        PlannerError: for arguments that do not fit together.
    """
    if args.words is not None and args.task is not None:
        raise PlannerError(f"expected one task, got {args.words!r} and --task {args.task!r}")
    if args.no_pictures and args.record_full:
        raise PlannerError("--no-pictures contradicts --record-full")
    task = args.words if args.words is not None else args.task
    stand_in = BACKENDS.get(args.backend).stand_in
    default_task = DEFAULT_TASK if stand_in is None else stand_in.task
    task = default_task if task is None else task
    planner = args.planner or (OF_WORDS if stand_in is None else OF_GOALS)
    memory = args.memory or (OF_PICTURES if stand_in is None else stand_in.memory)
    if planner == "tour":
        memory = args.memory or "auto"
    in_words = planner != "tour" and is_instruction(task)
    name = "tour" if planner == "tour" else "instruction" if in_words else task
    stamp = time.strftime("%Y%m%d_%H%M%S")
    output = Path(args.output or f"demo_output/{stamp}_{Path(name).stem}").resolve()
    given = {
        "backend": args.backend,
        "planner": planner,
        "memory": memory,
        "seed": args.seed,
        "sensors": args.sensors,
        "agents": args.agents,
        "record": str(output),
        "record_full": "true" if args.record_full else "false",
        **{name: getattr(args, name) for name in RECORD_LIMITS},
        "paced": "false" if args.fast else "true",
        "pace": args.pace,
    }
    given |= {"model": args.model, "model_url": args.model_url}
    given["model_deadline"] = str(args.model_deadline)
    if args.adapter:
        given["adapter"] = args.adapter
    if stand_in is not None:
        given |= {"agents": "1", "pace": "1"}
        given["record_exclude"] = f"{UNRECORDED}|{stand_in.unrecorded}"
        given["safety_config"] = str(_without_approvals(output))
    if args.no_pictures:
        given["record_images"] = "none"
    if args.console:
        given["console"] = "true"
    if args.voice:
        given |= {"voice": "true", "voice_device": "default"}
    if planner == "tour":
        given["house"] = args.house
    elif in_words:
        # A person, too: robots can switch and wash nothing.
        agents = IN_WORDS_AGENTS if given["agents"] == "0" else given["agents"]
        given |= {"house": args.house, "instruction": task, "narrate": "true", "agents": agents}
        given["answers"] = ";".join(args.answer)
    else:
        given |= {"episode": task, "narrate": "true"}
    arguments = Arguments.from_text(given)
    require_files(arguments, episode_argument="task")
    specs = node_list(arguments)
    beside: dict[str, list[str]] = {}
    if stand_in is not None:
        specs = tuple(map(_judged_by_truth, specs))
        beside = _robot_and_operator(stand_in.command, arguments)
    typed = None
    if in_words and sys.stdin is not None and sys.stdin.isatty():
        typed = TypedAnswers(sys.stdin, sys.stdout, len(args.answer))
        specs = tuple(map(_waits_for_typing, specs))
    log = output / LOG_FILE
    speed = f"{arguments.pace:g} times real time" if arguments.paced else "as fast as it goes"
    known = privileges(planner, memory, in_words=in_words)
    print(f"demo: {name}, {known}; {speed} (ARGS=--pace=N changes that); log: {log}", flush=True)
    last_line = LastLine()
    story = partial(_story, log, last_line, typed)
    status = run_nodes(specs, story, stopped_status=EXIT_INTERRUPTED, beside=beside)
    return last_line.finish(output, status)


def _without_approvals(output: Path) -> Path:
    """The shipped safety rules, but nobody is asked about the stand-in's hand; returns the file."""
    rules: dict[str, object] = yaml.safe_load(
        (config_dir() / "safety.yaml").read_text(encoding="utf-8")
    )
    rules["approval"] = {"where": "never"}
    output.mkdir(parents=True, exist_ok=True)
    file = output / "safety.yaml"
    file.write_text(yaml.safe_dump(rules), encoding="utf-8")
    return file


def _judged_by_truth(spec: NodeSpec) -> NodeSpec:
    """The evaluator reads the true world, which a stand-in publishes as a simulator does."""
    if spec.name != "evaluator":
        return spec
    return replace(spec, parameters={**spec.parameters, "world": "simulated"})


def _robot_and_operator(command: str, arguments: Arguments) -> dict[str, list[str]]:
    """The processes around our nodes: the stand-in of the robot, and who enables it."""
    world = {"--house": arguments.house, "--episode": arguments.episode}
    words = [word for name, value in world.items() if value for word in (name, value)]
    agent = "agent_0"
    return {
        "robot": [command, *words, "--seed", str(arguments.seed), "--truth"],
        "operator": ["operate", agent, "claim", "power_on", "stand"],
    }


def _waits_for_typing(spec: NodeSpec) -> NodeSpec:
    """The task planner with time for a person to read and type."""
    if spec.name != "task_planner":
        return spec
    return replace(spec, parameters={**spec.parameters, "answer_wait": TYPING_WAIT_S})


def _story(
    log: Path, last_line: LastLine, typed: TypedAnswers | None
) -> Callable[[str, str], None]:
    """What takes each line of the nodes: log and screen, then the terminal's answers."""
    write = story_writer(log, sys.stdout, last_line.take)
    if typed is None:
        return write

    def write_and_ask(name: str, text: str) -> None:
        write(name, text)
        typed.take(name, text)

    return write_and_ask


class LastLine:
    """The demo's last line: the live verdict and the verdict of the bag.

    Without a goal to evaluate, it is the planner's outcome.
    """

    def __init__(self) -> None:
        self.live = ""

    def take(self, name: str, text: str) -> bool:
        """Takes the live verdict from the story; returns whether the line was the verdict."""
        if name != "narrator" or not text.startswith(VERDICT):
            return False
        self.live = text
        return True

    def finish(self, output: Path, status: int) -> int:
        """Evaluates the bag, prints the line and returns the demo's exit status.

        Args:
            output: output folder of the run.
            status: exit status of the nodes.
        """
        if not self.live:
            return status
        if self.live.startswith(NO_VERDICT):
            print(self.live, flush=True)
            return status
        found = check_bag(output)
        found.say_lacks()
        live, _, rest = self.live.partition("  ")
        print(f"{live}  bag verdict: {found.text}  {rest}", flush=True)
        return status if found.agrees else status or EXIT_FAILED
