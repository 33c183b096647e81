"""The options of planners, models, memories and simulators as flags of commands."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from planner.command_line import add_backend_flags, add_option_flags
from planner.memory.part import UPDATERS
from planner.models.chat import MODELS
from planner.models.model_choice import model_part
from planner.parts.option import Option
from planner.planning.part import PLANNERS
from planner.world.errors import PlannerError
from sim_bridge.backend import BACKENDS

# What the parts are called, their options, and the flag that chooses one.
Kind = tuple[str, Mapping[str, Sequence[Option]], str]


def add_part_flags(
    parser: argparse.ArgumentParser, *, dashes: bool = True, more: Sequence[Kind] = ()
) -> None:
    """Declares the options of planners, models and memories; help shows those that are chosen.

    A name that parts of two kinds have is one flag, with the first kind's help. `more` are further
    kinds.
    """

    def of_model(value: str) -> str:
        # For help, the bare name of a part is not a server's model.
        return value if value in MODELS.names() else model_part(value)

    kinds: list[tuple[Kind, Callable[[str], str]]] = [
        (("planners", PLANNERS.options(), "--planner"), str),
        (("models", MODELS.options(), "--model"), of_model),
        (("memories", UPDATERS.options(), "--memory"), str),
        *((kind, str) for kind in more),
    ]
    declared: set[str] = set()
    for (kind, options, chosen_by), part_of in kinds:
        group = parser.add_argument_group(f"options of {kind}")
        new = {part: [o for o in each if o.name not in declared] for part, each in options.items()}
        add_option_flags(group, new, chosen_by, part_of=part_of, dashes=dashes)
        declared.update(option.name for each in new.values() for option in each)


# The flags by which a command takes any simulator that draws what its agents see.

DEFAULT = "embedded"


def add_drawing_flags(parser: argparse.ArgumentParser) -> None:
    """Declares `--backend` and `--backend-config`."""
    about = f"a simulator with pictures (default {DEFAULT})"
    add_backend_flags(parser, BACKENDS.names(), about, DEFAULT)


def absolute_file(name: str) -> str:
    """A file's absolute path, so that a run goes on from any folder; "" stays empty."""
    return str(Path(name).resolve()) if name else ""


def absolute_sensors(name: str) -> str:
    """The same for a model of sensors, whose name stays as it is."""
    return absolute_file(name) if "/" in name or ".yaml" in name or ".json" in name else name


def check_draws(name: str) -> None:
    """Refuses what is not a simulator with pictures.

    Raises:
        PlannerError: for such a backend.
    """
    part = BACKENDS.get(name)
    if not part.simulated or not part.has_pictures:
        raise PlannerError(f"--backend {name}: expected a simulator with pictures")
