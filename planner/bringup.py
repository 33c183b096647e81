"""The one list of nodes.

`launch/bringup.launch.py` turns the list into launch actions and `planner up` into child
processes. Nothing here needs ROS. A new node is one entry in `node_list`.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from planner.bringup_arguments import ArgumentError, Arguments
from planner.planning.part import PLANNERS
from planner.recorder.bag_writer import LIMITS
from planner.voice.part import EARS, MOUTHS
from planner.world.errors import did_you_mean
from planner.world.topics import (
    EVALUATION,
    INSTRUCT_STATUS,
    NAMESPACE_REMAPPINGS,
    SKILL_RESULTS,
    WORLD_GRAPH,
    WORLD_INFO,
)
from sim_bridge.backend import BACKENDS

ParameterValue = bool | int | float | str

BAG_FOLDER = "bag"
# As often as a memory looks (`planner.memory.memory.UPDATE_PERIOD_S`).
LOOKS_HZ = 3.0
# Of the 40 MB a minute of a default recording; the rest is for all other topics.
PICTURE_MB_PER_MINUTE = 30.0
CONSOLE_RECORD = "console.jsonl"


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """One node to start.

    Attributes:
        name: of the node, and of its lines in the log.
        executable: file of `nodes/`, as in `ros2 run planner EXECUTABLE`.
        namespace: ROS namespace, `/` for none.
        parameters: ROS parameters.
        remappings: (from, to) pairs of ROS names.
        params_file: ROS parameter file, which wins over `parameters`; empty = none.
        log_level: of its log.
        respawn: started again when it dies. Without it, status 0 is a good end and any other
            one ends the run.
        ends_run: the whole run ends when this node ends well.
        stops_last: stopped after all others, under `planner up`.
        passive: the robots work without it: it is restarted however often it dies.
    """

    name: str
    executable: str
    namespace: str = "/"
    parameters: Mapping[str, ParameterValue] = field(default_factory=dict)
    remappings: tuple[tuple[str, str], ...] = ()
    params_file: str = ""
    log_level: str = "info"
    respawn: bool = True
    ends_run: bool = False
    stops_last: bool = False
    passive: bool = False


# For each managed node's executable, a topic that it publishes as soon as it is configured.
_FIRST_TOPICS = {
    "evaluator": EVALUATION,
    "memory": WORLD_GRAPH,
    "skill_executor": SKILL_RESULTS,
    "task_planner": INSTRUCT_STATUS,
}


def node_list(args: Arguments) -> tuple[NodeSpec, ...]:
    """Return the nodes that these arguments ask for, in the order in which they start.

    Raises:
        ArgumentError: if `nodes` names one that they do not ask for.
    """
    listed = (
        # First, so that it receives everything the others publish. It records topics by their full
        # names, so they are not remapped.
        *(_shared(args, spec) for spec in _recorder(args)),
        replace(_shared(args, _bridge(args)), remappings=NAMESPACE_REMAPPINGS),
        *(
            _above(args, spec)
            for spec in _in_order(
                (
                    *_evaluator(args),
                    *_memory(args),
                    *_skills(args),
                    *_PLANNERS[args.planner](args),
                    *_console(args),
                    *_voice(args),
                    *_narrator(args),
                )
            )
        ),
    )
    names = [spec.executable for spec in listed]
    for name in args.nodes:
        if name not in names:
            words = f"{name!r} is none of those that the other arguments ask for: "
            raise ArgumentError("nodes", f"{words}{', '.join(names)}{did_you_mean(name, names)}")
    return tuple(spec for spec in listed if not args.nodes or spec.executable in args.nodes)


def _in_order(specs: Iterable[NodeSpec]) -> Iterator[NodeSpec]:
    """Makes each managed node start after the one before it, the first after the bridge."""
    before = WORLD_INFO
    for spec in specs:
        if spec.executable not in _FIRST_TOPICS:
            yield spec
            continue
        yield replace(spec, parameters={**spec.parameters, "start_after": before})
        before = _FIRST_TOPICS[spec.executable]


def restarted(spec: NodeSpec) -> NodeSpec:
    """A node as restarted after it died: it waits for no other."""
    parameters = {name: v for name, v in spec.parameters.items() if name != "start_after"}
    return replace(spec, parameters=parameters)


def _simulated(args: Arguments) -> bool:
    return BACKENDS.get(args.backend).simulated


def _shared(args: Arguments, spec: NodeSpec) -> NodeSpec:
    """A node with the settings that all nodes share."""
    return replace(
        spec, namespace=args.namespace, params_file=args.params_file, log_level=args.log_level
    )


def _above(args: Arguments, spec: NodeSpec) -> NodeSpec:
    """A node above the bridge, which may follow its time.

    In fast time, receiving a tick costs more than simulating it: only nodes that need every tick
    follow it.
    """
    parameters = dict(spec.parameters)
    if args.use_sim_time is not None:
        parameters["use_sim_time"] = args.use_sim_time
    else:
        parameters.setdefault("use_sim_time", args.paced and _simulated(args))
    return replace(_shared(args, spec), parameters=parameters, remappings=NAMESPACE_REMAPPINGS)


def _bridge(args: Arguments) -> NodeSpec:
    files = {
        "backend_config": args.backend_config,
        "safety_config": args.safety_config,
        "sensors": args.sensors,
    }
    return NodeSpec(
        name="bridge",
        executable="bridge",
        parameters={
            "backend": args.backend,
            "house": args.house,
            "episode": args.episode,
            "seed": args.seed,
            "agents": args.agents,
            "time_mode": "paced" if args.paced else "fast",
            "rate": args.pace,
            "cameras": args.cameras,
            "camera_hz": args.camera_hz,
            **{name: file for name, file in files.items() if file},
        },
    )


def _memory(args: Arguments) -> tuple[NodeSpec, ...]:
    needed = args.planner not in ("none", "tour")
    updater = ("privileged" if needed else "none") if args.memory == "auto" else args.memory
    if updater == "none":
        return ()
    model = {
        "persons": args.memory_persons,
        "model": args.memory_model,
        "model_url": args.memory_url,
        "model_second": args.memory_second,
    }
    return (
        NodeSpec(
            name="memory",
            executable="memory",
            parameters={
                "updater": updater,
                "house": args.house,
                "episode": args.episode,
                "store": _store(args, "memory"),
                **_map(args),
                **{name: word for name, word in model.items() if word},
                **args.memory_options,
            },
        ),
    )


def _skills(args: Arguments) -> tuple[NodeSpec, ...]:
    if args.planner in ("none", "tour"):
        return ()
    models = {
        "find_model": args.find_model,
        "find_model_url": args.find_model_url,
        "explore_encoder": args.explore_encoder,
    }
    return (
        NodeSpec(
            name="skill_executor",
            executable="skill_executor",
            parameters={
                "house": args.house,
                "episode": args.episode,
                # Its timeouts are in the world's time, in fast time too.
                "use_sim_time": _simulated(args),
                **_map(args),
                **{name: word for name, word in models.items() if word},
                **args.skill_options,
            },
        ),
    )


def _evaluator(args: Arguments) -> tuple[NodeSpec, ...]:
    # Only simulators know the true world; a task may be loaded into them at any time, but a tour
    # has none. In a real world the memory's belief is evaluated, if a task is given.
    perceived = not _simulated(args)
    if args.planner == "tour" or (perceived and not args.episode):
        return ()
    world = "perceived" if perceived else "simulated"
    return (
        NodeSpec(
            name="evaluator",
            executable="evaluator",
            parameters={
                "episode": args.episode,
                "world": world,
                "store": _store(args, "evaluation"),
            },
            passive=True,
        ),
    )


def _map(args: Arguments) -> dict[str, ParameterValue]:
    return {} if args.map == "given" else {"map": args.map}


def _kind(args: Arguments) -> dict[str, ParameterValue]:
    """The kind of skills, which a planner writes into its results."""
    return {name: value for name, value in args.skill_options.items() if name == "skill_kind"}


def _store(args: Arguments, what: str) -> str:
    return f"{args.record}/{what}" if args.record else _temporary_store(what)


@cache
def _temporary_store(what: str) -> str:
    """A folder for this run only, from which a restarted node restores its state."""
    run = f"{os.getpid()}-{time.time_ns()}"
    return str(Path(tempfile.gettempdir()) / f"planner-{os.getuid()}" / f"{what}-{run}")


def _recorder(args: Arguments) -> tuple[NodeSpec, ...]:
    if not args.record or args.planner == "tour":
        return ()
    return (
        NodeSpec(
            name="recorder",
            executable="recorder",
            parameters={"folder": f"{args.record}/{BAG_FOLDER}", **_recorded(args)},
            stops_last=True,
            passive=True,
        ),
    )


def _recorded(args: Arguments) -> dict[str, ParameterValue]:
    limits: dict[str, ParameterValue] = {
        option.name: getattr(args, f"record_{option.name}") for option in LIMITS
    }
    if args.record_full:
        return {"images": "raw", "image_hz": 0.0, "exclude": "", **limits}
    chosen = {"images": args.record_images, "exclude": args.record_exclude, **limits}
    if args.record_image_hz is None:
        views = {"changed_views": True, "picture_mb_per_minute": PICTURE_MB_PER_MINUTE}
        return {"image_hz": LOOKS_HZ, **views, **chosen}
    return {"image_hz": args.record_image_hz, **chosen}


def _narrator(args: Arguments) -> tuple[NodeSpec, ...]:
    if not args.narrate:
        return ()
    in_words = {"instruction": args.instruction, "house": args.house, "answers": args.answers}
    parameters: dict[str, ParameterValue] = {
        "episode": args.episode,
        "agents": args.agents,
        "record": args.record,
        **{name: value for name, value in in_words.items() if value},
        "bag": f"{args.record}/{BAG_FOLDER}" if args.record else "",
        **_map(args),
    }
    if args.record_images == "none" and not args.record_full:
        parameters["pictures"] = False
    if not _simulated(args):
        # A real robot stands up when its operator says so; a planner would give up before that.
        parameters["attended"] = True
    return (
        NodeSpec(
            name="narrator",
            executable="narrator",
            parameters=parameters,
            respawn=False,
            ends_run=True,
            passive=True,
        ),
    )


def _console(args: Arguments) -> tuple[NodeSpec, ...]:
    if not args.console:
        return ()
    return (
        NodeSpec(
            name="console",
            executable="console",
            parameters={
                "port": args.console_port,
                "record": f"{args.record}/{CONSOLE_RECORD}" if args.record else "",
                "prices": args.console_prices,
                # What it shows has the world's time in it; a tick of the clock would only wake it.
                "use_sim_time": False,
            },
            passive=True,
        ),
    )


def _voice(args: Arguments) -> tuple[NodeSpec, ...]:
    if not args.voice:
        return ()
    given = {"device": args.voice_device}
    server = {"url": args.voice_url}
    ear = {"ear": args.ear, "listen": args.voice_listen, "confirm": args.voice_confirm}
    return (
        NodeSpec(
            name="ear",
            executable="ear",
            parameters={
                **ear,
                **{name: word for name, word in given.items() if word},
                **(server if EARS.get(args.ear).needs_url else {}),
                **args.ear_options,
                "use_sim_time": False,
            },
            passive=True,
        ),
        NodeSpec(
            name="mouth",
            executable="mouth",
            parameters={
                "mouth": args.mouth,
                **{name: word for name, word in given.items() if word},
                **(server if MOUTHS.get(args.mouth).needs_url else {}),
                **args.mouth_options,
                "use_sim_time": False,
            },
            passive=True,
        ),
    )


def _no_planner(_args: Arguments) -> tuple[NodeSpec, ...]:
    return ()


def _tour(args: Arguments) -> tuple[NodeSpec, ...]:
    return (
        NodeSpec(
            name="tour",
            executable="tour",
            parameters={"house": args.house, "record": args.record},
            respawn=False,
            ends_run=True,
        ),
    )


def _task_planner(args: Arguments) -> tuple[NodeSpec, ...]:
    return (
        NodeSpec(
            name="task_planner",
            executable="task_planner",
            parameters={
                "planner": args.planner,
                "house": args.house,
                "episode": args.episode,
                "model": args.model,
                "model_url": args.model_url,
                "model_deadline": args.model_deadline,
                "control": args.control,
                **_map(args),
                **_kind(args),
                **args.planner_options,
                **args.model_options,
            },
        ),
    )


_PLANNERS: Mapping[str, Callable[[Arguments], tuple[NodeSpec, ...]]] = {
    "none": _no_planner,
    "tour": _tour,
    **dict.fromkeys(PLANNERS.names(), _task_planner),
}
