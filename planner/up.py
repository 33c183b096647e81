"""`planner up`: start the list of nodes as child processes, for machines without launch."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TextIO

import yaml

import planner
from planner.app.part_flags import add_part_flags
from planner.bringup import NodeSpec, node_list, restarted
from planner.bringup_arguments import (
    ARGUMENTS,
    Argument,
    ArgumentError,
    Arguments,
    option_arguments,
)
from planner.command_line import EXIT_CONFIGURATION, EXIT_OK
from planner.environment import ros_environment
from planner.network import free_shared_memory
from planner.planning.part import PLANNERS
from planner.ros.domain_lock import DomainLock, domain_id
from planner.security.policy import (
    clear_enclave_override,
    enclave_arguments,
    refuse_namespace_with_keys,
)
from planner.supervisor import Command, Supervisor
from planner.voice.part import EARS, MOUTHS
from planner.warm_start import can_fork, load_common
from planner.world.errors import PlannerError
from planner.world.share import install_prefixes

# Started as programs of their own: a fork would hold the geometry and path search of the others, a
# quarter of its memory, for nothing.
LIGHT = ("console",)
_COLOURS = (36, 32, 33, 35, 34, 96, 92, 93, 95, 94)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the bring-up's arguments, in the forms `--name value` and `name:=value`."""
    for argument in ARGUMENTS:
        parser.add_argument(
            f"--{argument.name}", metavar="VALUE", default=None, help=_help(argument)
        )
    voices = (("ears", EARS.options(), "--ear"), ("mouths", MOUTHS.options(), "--mouth"))
    add_part_flags(parser, dashes=False, more=voices)
    parser.add_argument(
        "assignments", nargs="*", metavar="NAME:=VALUE", help="the same, as ros2 launch takes them"
    )


def run(args: argparse.Namespace) -> int:
    """Start the nodes and keep them running until Ctrl-C."""
    given = {
        argument.name: value
        for argument in (*ARGUMENTS, *option_arguments())
        if (value := getattr(args, argument.name)) is not None
    }
    for assignment in args.assignments:
        name, separator, value = assignment.partition(":=")
        if not separator:
            raise PlannerError(f"{assignment!r}: arguments are written NAME:=VALUE or --NAME VALUE")
        if name in given:
            raise ArgumentError(name, "given twice")
        given[name] = value
    arguments = Arguments.from_text(given)
    require_files(arguments)
    return run_nodes(node_list(arguments))


def require_files(arguments: Arguments, *, episode_argument: str = "episode") -> None:
    """Rejects an episode or a house that does not exist, before any node starts.

    So it does a planner that is for other agents than the episode's.

    Args:
        arguments: of the bring-up.
        episode_argument: what the user calls the episode's argument.

    Raises:
        ArgumentError: naming the argument and the nearest name.
    """
    if not (arguments.episode or arguments.house):
        return
    # Its import takes longer than all else that --help needs.
    from planner.world.house_checks import find_episode, find_house

    for name, given, find in (
        (episode_argument, arguments.episode, find_episode),
        ("house", arguments.house, find_house),
    ):
        try:
            path = find(given) if given else None
        except PlannerError as error:
            raise ArgumentError(name, str(error)) from None
        if path is not None and not path.is_file():
            raise ArgumentError(name, f"there is no file {path}")
        if path is not None and given == arguments.episode:
            _check_agents(arguments.planner, path)


def _check_agents(planner: str, episode: Path) -> None:
    from planner.planning.part import lacking
    from planner.world.agents import default_bodies
    from planner.world.episode import read_episode

    part = PLANNERS.get(planner) if planner in PLANNERS.names() else None
    if part is None or not part.needs.primitives:
        return
    for agent in read_episode(episode).agents:
        able = default_bodies()[agent.kind].primitives
        if why := lacking(planner, part.needs.primitives, agent.uid, able):
            raise ArgumentError("planner", why)


Write = Callable[[str, str], None]


def run_nodes(
    specs: Sequence[NodeSpec],
    open_log: Callable[[], Write] | None = None,
    *,
    stopped_status: int = EXIT_OK,
    beside: Mapping[str, Sequence[str]] | None = None,
) -> int:
    """Runs nodes as child processes.

    Args:
        specs: what to run.
        open_log: makes the function that takes each line of their output with the name of its
            source; the default writes everything to standard output.
        stopped_status: returned for a run that was asked to stop.
        beside: commands of `planner` to run, too, by the name of their lines: started before the
            nodes and not again; one that fails ends the run.

    Returns:
        The supervisor's status; see `Supervisor.run`. `EXIT_CONFIGURATION` if another bridge has
            this ROS domain and namespace.

    Raises:
        PlannerError: if an executable is not found, or keys do not fit the namespace.
    """
    environment = ros_environment(os.environ)
    clear_enclave_override(environment)
    for spec in specs:
        if spec.executable != "bridge":
            continue
        refuse_namespace_with_keys(environment, spec.namespace)
        try:
            # Check this before anything is started that could interfere with the other run.
            DomainLock(domain_id(environment), spec.namespace).close()
        except PlannerError as error:
            print(f"error: {error}", file=sys.stderr)
            return EXIT_CONFIGURATION
    warm = can_fork(environment)
    with tempfile.TemporaryDirectory(prefix="planner-") as folder:
        commands = [
            Command(name, [sys.executable, "-m", "planner.cli", *words], environment, respawn=False)
            for name, words in (beside or {}).items()
        ]
        commands += [_command(spec, environment, Path(folder), warm=warm) for spec in specs]
        if warm:
            load_common()
        names = [command.name for command in commands]
        write = open_log() if open_log else log_writer(names, sys.stdout)
        free_shared_memory()
        return Supervisor(commands, write, stopped_status=stopped_status).run()


def find_executable(name: str) -> Path:
    """Return the file of a node, from this source tree, a ROS workspace or the environment.

    Raises:
        PlannerError: if there is no such file.
    """
    folders = [
        Path(planner.__file__).resolve().parents[1] / "nodes",
        *(prefix / "lib" / "planner" for prefix in install_prefixes()),
    ]
    for folder in folders:
        if (folder / name).is_file():
            return folder / name
    places = ", ".join(str(folder) for folder in folders)
    raise PlannerError(f"no executable for node {name!r} in {places}")


def log_writer(names: Sequence[str], out: TextIO) -> Callable[[str, str], None]:
    """Return a function that writes one line with the padded name of its source.

    Names are coloured on a terminal, unless NO_COLOR is set.
    """
    every = ["planner", *names]
    width = max(len(name) for name in every)
    coloured = out.isatty() and not os.environ.get("NO_COLOR")

    def write(name: str, text: str) -> None:
        prefix = f"[{name:<{width}}]"
        if coloured:
            prefix = f"\x1b[{_COLOURS[every.index(name) % len(_COLOURS)]}m{prefix}\x1b[0m"
        out.write(f"{prefix} {text}\n")
        out.flush()

    return write


def _command(
    spec: NodeSpec, environment: Mapping[str, str], folder: Path, *, warm: bool
) -> Command:
    again = restarted(spec)
    return Command(
        spec.name,
        _words(spec, environment, folder / f"{spec.name}.yaml"),
        environment,
        restart_words=_words(again, environment, folder / f"{spec.name}_again.yaml"),
        respawn=spec.respawn,
        ends_run=spec.ends_run,
        warm=warm and spec.executable not in LIGHT,
        stops_last=spec.stops_last,
        passive=spec.passive,
    )


def _words(spec: NodeSpec, environment: Mapping[str, str], parameters: Path) -> list[str]:
    # Parameters go through a file: on the command line an empty text, or one that looks like a
    # number, would get another type.
    parameters.write_text(yaml.safe_dump({"/**": {"ros__parameters": dict(spec.parameters)}}))
    words = [sys.executable, str(find_executable(spec.executable)), "--ros-args"]
    words += ["-r", f"__node:={spec.name}", "-r", f"__ns:={spec.namespace}"]
    for source, target in spec.remappings:
        words += ["-r", f"{source}:={target}"]
    words += ["--params-file", str(parameters)]
    if spec.params_file:
        # The last file takes precedence.
        words += ["--params-file", spec.params_file]
    if spec.log_level != "info":
        words += ["--log-level", spec.log_level]
    return [*words, *enclave_arguments(environment, spec.executable)]


def _help(argument: Argument) -> str:
    choices = f"; one of {', '.join(argument.choices)}" if argument.choices else ""
    return f"{argument.description}{choices} (default: {argument.default or 'empty'})"
