"""The settings of a benchmark run: all that its results depend on, stored in its manifest."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Annotated, TypedDict

from pydantic import Field, model_validator

from planner.app.embedded_run import usual_backend
from planner.app.part_flags import absolute_file, absolute_sensors, add_part_flags
from planner.command_line import (
    add_backend_flags,
    add_flags,
    add_model_flags,
    add_option_flags,
    add_seconds_flag,
    add_sensors_flag,
    add_url_flag,
    read_flags,
    read_option_flags,
)
from planner.evaluation.progress import Mode
from planner.memory.part import UPDATERS, UpdaterPart
from planner.models.chat import DEADLINE_S, MODEL_DEADLINE, MODEL_WAIT, MODELS
from planner.models.ledger import Prices
from planner.models.model_choice import ModelChoice, absolute, model_forms, model_part
from planner.parts.option import OptionValue, read_options
from planner.planning.part import PLANNERS, PlannerChoice, PlannerPart, needs_model
from planner.planning.planner_model import (
    Axes,
    Control,
    DialogueOptions,
    MemorySource,
    Observability,
    Privilege,
)
from planner.skills.kind import SKILL_KIND_OPTIONS, SkillChoice, SkillKind
from planner.world.errors import PlannerError
from planner.world.files import FileModel
from planner.world.house import House
from sim_bridge.backend import BACKENDS, Backend, Drawn, check_sensors, make_backend

Count = Annotated[int, Field(ge=0)]
Price = Annotated[float, Field(ge=0)]


class MemoryKind(StrEnum):
    """What the memory learns from, unless an updater that reads images is chosen.

    RAYS: visibility by the simulator's rays. PICTURES: visibility from rendered instance ids.
    FULL: no memory; planners and skills know everything from the start (PARTNR-1.3).
    """

    RAYS = "privileged"
    PICTURES = "pictures"
    FULL = "full"


class AnsweredBy(StrEnum):
    """Who answers a planner's questions: nobody, or a simulated person who sees the truth."""

    NOBODY = "nobody"
    SIMULATED = "simulated"


def memory_names() -> tuple[str, ...]:
    """The values of a run's `memory`: a kind, or an updater's name."""
    return tuple(dict.fromkeys([*(kind.value for kind in MemoryKind), *UPDATERS.names()]))


class RunSettings(FileModel):
    """The settings of one run; those that may differ when it is resumed are not included.

    Attributes:
        backend: a simulator in the catalog of backends; "" = `usual_backend` of the house.
        backend_config: its settings file; "" = the shipped one.
        sensors: how its sensors err, a name or a file; "" = as its settings say.
        model: as in the node's parameter; `scripted:FOLDER` has a file EPISODE.txt for each
            episode, `recorded:RUN` replays the dialogues of another run.
        agents: how many act; 0 = all of the episode. A single agent is the person, since only
            people can change states (PARTNR-D1).
        seed: added to each episode's.
        most_cycles: maximum planning cycles of a dialogue; 0 = the paper's.
        memory: one of `memory_names`.
        memory_model, memory_url, memory_second: the models of an updater that reads images.
        memory_options: of the updater, values that differ from the defaults.
        skill_options: who moves bodies, values of `SKILL_KIND_OPTIONS` that were given.
        answered_by: who answers questions; a question to nobody ends the episode.
        options: of the planner, values that differ from the defaults; model_options likewise.
        keeps_traces: whether each episode's traces for training are kept, of any planner.
        prompt_price, cached_price, reply_price: price per million tokens.
    """

    planner: str = "expert"
    backend: str = ""
    backend_config: str = ""
    sensors: str = ""
    model: str = ""
    model_url: str = ""
    model_options: Mapping[str, OptionValue] = Field(default_factory=dict)
    agents: Count = 0
    memory: str = MemoryKind.RAYS.value
    memory_model: str = ""
    memory_url: str = ""
    memory_second: str = ""
    memory_options: Mapping[str, OptionValue] = Field(default_factory=dict)
    control: Control = Control.DECENTRALIZED
    memory_source: MemorySource = MemorySource.SUMMARY
    mode: Mode = Mode.STRICT
    seed: int = 0
    most_cycles: Count = 0
    show_states: bool = False
    model_deadline_s: Annotated[float, Field(gt=0)] = DEADLINE_S
    model_wait_s: Annotated[float, Field(ge=0)] = float(MODEL_WAIT.default)
    answered_by: AnsweredBy = AnsweredBy.NOBODY
    skill_options: Mapping[str, OptionValue] = Field(default_factory=dict)
    options: Mapping[str, OptionValue] = Field(default_factory=dict)
    keeps_traces: bool = False
    prompt_price: Price = 0.0
    cached_price: Price = 0.0
    reply_price: Price = 0.0

    @model_validator(mode="before")
    @classmethod
    def _read_former_names(cls, given: object) -> object:
        """Converts older manifests, in which three options were separate settings."""
        if not isinstance(given, dict):
            return given
        if "temperature" in given:
            given = dict(given)
            temperature = given.pop("temperature")
            if temperature:
                given = {"model_options": {"temperature": temperature}, **given}
        former = {name: given[name] for name in ("traces", "encoder") if name in given}
        rest = {name: value for name, value in given.items() if name not in former}
        named = {name: value for name, value in former.items() if value}
        return (
            {**rest, "options": {**named, **rest["options"]}}
            if "options" in rest
            else ({**rest, "options": named} if named else rest)
        )

    def check(self) -> None:
        """Refuses settings that cannot be run.

        Raises:
            PlannerError: with the setting and the reason.
        """
        part, full = self.part, self.knows_all
        if part.needs.model and not self.model:
            raise PlannerError(needs_model(self.planner))
        if self.model and not (part.needs.model or part.asks.model):
            raise PlannerError(f"the planner {self.planner} uses no model; leave out --model")
        if part.needs_full_memory(self.options) and not full:
            raise PlannerError(f"the planner {self.planner} needs full knowledge: --memory full")
        if part.reads.changes and full:
            raise PlannerError(
                f"the planner {self.planner} is told what changes in the memory, which "
                "--memory full has not"
            )
        read_options(part.options, self.options)
        if lacking := part.lacking(self.options):
            raise PlannerError(f"the planner {self.planner} needs the option {lacking}")
        self.model_choice.check()
        self.skills.check()
        self._check_memory()
        self._check_backend()

    @property
    def model_choice(self) -> ModelChoice:
        """The language model; if its server is away, calls wait for it."""
        return ModelChoice(self.model, self.model_url, self.model_options, wait_s=self.model_wait_s)

    @property
    def skills(self) -> SkillChoice:
        """Who moves bodies.

        Raises:
            OptionError: for an unknown option or an invalid value.
        """
        return SkillChoice.of(self.skill_options)

    def _check_backend(self) -> None:
        if self.backend_config and not self.backend:
            raise PlannerError("--backend-config is of a backend: name it with --backend")
        if self.backend and not BACKENDS.get(self.backend).simulated:
            raise PlannerError(
                f"the backend {self.backend} is not a simulator that runs in one process"
            )

    def _check_memory(self) -> None:
        updater = self.updater
        if updater is None and (self.memory_model or self.memory_url or self.memory_second):
            raise PlannerError(f"the memory {self.memory} uses no model")
        if updater is not None and updater.needs_model and not self.memory_model:
            raise PlannerError(f"the memory {self.memory} needs a model: --memory-model")
        read_options(() if updater is None else updater.options, self.memory_options)

    @property
    def knows_all(self) -> bool:
        """Whether planners and skills know everything from the start."""
        return self.memory == MemoryKind.FULL

    @property
    def reads_pictures(self) -> bool:
        """Whether images are rendered."""
        return self.memory == MemoryKind.PICTURES or self.updater is not None

    @property
    def updater(self) -> UpdaterPart | None:
        """The record of the updater that reads images; None for a `MemoryKind`.

        Raises:
            PartError: if there is none of this name, or it cannot be used.
        """
        return None if self.memory in [*MemoryKind] else UPDATERS.get(self.memory)

    @property
    def part(self) -> PlannerPart:
        """The planner's record.

        Raises:
            PartError: if there is none of this name, or it cannot be used.
        """
        return PLANNERS.get(self.planner)

    def world_of(self, house: House) -> str:
        """The backend in which a house is run.

        Raises:
            PlannerError: if the house or the memory does not fit the backend.
        """
        world = self.backend or usual_backend(house)
        has_pictures = BACKENDS.get(world).has_pictures
        if has_pictures and house.graph is not None:
            raise PlannerError(f"{house.name} is a scene graph, which --backend graph runs")
        if not has_pictures and self._needs_pictures:
            fit = [n for n, part in UPDATERS.usable().items() if not part.needs_pictures]
            raise PlannerError(
                f"the {world} world has no pictures for --memory {self.memory}: "
                f"use {', '.join([*fit, MemoryKind.FULL])}"
            )
        if not has_pictures and self.skills.kind is SkillKind.LEARNED:
            raise PlannerError(f"the {world} world has no pictures for skill_kind learned")
        check_sensors(world, self.sensors)
        if not has_pictures and self._planner_looks:
            raise PlannerError(f"the {world} world has no pictures for --planner {self.planner}")
        return world

    def open_backend(self, house: House) -> Backend:
        """Makes the backend in which a house is run.

        Raises:
            PlannerError: as `world_of`, or if it cannot be made.
        """
        by_policy = self.skills.kind is SkillKind.LEARNED
        drawn = Drawn(
            pictures=self.reads_pictures or by_policy or self._planner_looks, sensors=self.sensors
        )
        return make_backend(self.world_of(house), self.backend_config, drawn)

    @property
    def _planner_looks(self) -> bool:
        return self.part.reads_pictures(self.options)

    @property
    def _needs_pictures(self) -> bool:
        updater = self.updater
        if updater is None:
            return self.memory == MemoryKind.PICTURES
        return updater.needs_pictures

    def axes(self, agents: int) -> Axes:
        """The axes of the experiment if `agents` act."""
        axes = Axes(
            self.control, self._observability, self.skills.kind, self._privilege, self.memory_source
        )
        if self.part.needs.goal and not self.part.needs.model:
            axes = replace(
                axes,
                control=Control.CENTRALIZED,
                privilege=Privilege.GOAL,
                memory_source=MemorySource.BELIEF,
            )
        by_model = bool(self.model) and self.model_choice.part.reads_goal
        if by_model or self.part.reads_goal(self.options):
            axes = replace(axes, privilege=Privilege.GOAL)
        return replace(axes, control=Control.SINGLE) if agents == 1 else axes

    @property
    def _observability(self) -> Observability:
        if self.knows_all:
            return Observability.FULL
        updater = self.updater
        true_names = updater is None or updater.true_names
        return Observability.PARTIAL if true_names else Observability.CONCEPTGRAPH

    @property
    def _privilege(self) -> Privilege:
        updater = self.updater
        truth = updater is None or updater.reads_truth(self.memory_model, self.memory_options)
        return Privilege.PERCEPTION if truth else Privilege.NONE

    def choice(self, agents: int) -> PlannerChoice:
        """The planner's settings."""
        return PlannerChoice(
            self.planner,
            self.axes(agents),
            DialogueOptions(
                max_cycles=self.most_cycles,
                deadline_s=self.model_deadline_s,
                show_states=self.show_states,
            ),
            self.options,
        )

    @property
    def prices(self) -> Prices:
        """Prices per million tokens."""
        return Prices(self.prompt_price, self.cached_price, self.reply_price)


# Command-line flags of what runs in this process.


# Of the kinds beside oracle: all but the kind itself.
_SKILL_OPTIONS = {
    kind.value: SKILL_KIND_OPTIONS[1:] for kind in (SkillKind.NOISY, SkillKind.LEARNED)
}


class GivenSettings(TypedDict):
    """The fields of `RunSettings` that these flags set."""

    planner: str
    options: Mapping[str, OptionValue]
    backend: str
    backend_config: str
    sensors: str
    model: str
    model_url: str
    model_options: Mapping[str, OptionValue]
    model_deadline_s: float
    agents: int
    memory: str
    memory_model: str
    memory_url: str
    memory_second: str
    memory_options: Mapping[str, OptionValue]
    skill_options: Mapping[str, OptionValue]


def add_setting_flags(parser: argparse.ArgumentParser, title: str, model_files: str = "") -> None:
    """Declares the flags.

    Args:
        parser: of a command; gets groups for the options of parts.
        title: of the group of all others.
        model_files: what the help says about the files of a model.
    """
    group = parser.add_argument_group(title)
    names, usual = PLANNERS.names(), RunSettings()
    group.add_argument(
        "--planner",
        choices=names,
        default=usual.planner,
        metavar="NAME",
        help=f"one of {', '.join(names)} (default: {usual.planner})",
    )
    add_backend_flags(
        group, BACKENDS.names(), "a simulator; default: what the house needs, else embedded"
    )
    add_sensors_flag(group)
    add_model_flags(group, f"language model, for planners with one: {model_forms()}{model_files}")
    add_seconds_flag(group, MODEL_DEADLINE)
    group.add_argument(
        "--agents", type=int, default=usual.agents, metavar="N", help="how many agents act; 0 = all"
    )
    memories = memory_names()
    group.add_argument(
        "--memory",
        choices=memories,
        default=usual.memory,
        metavar="NAME",
        help="what the memory learns from; full = planners get the ground truth; one of "
        f"{', '.join(memories)} (default: {usual.memory})",
    )
    group.add_argument(
        "--memory-model",
        default="",
        metavar="MODEL",
        help="of a memory that reads pictures: a folder, or a server's name for it",
    )
    add_url_flag(group, "--memory-url")
    group.add_argument(
        "--memory-second", default="", metavar="DIR", help="folder of the memory's second model"
    )
    add_flags(group, SKILL_KIND_OPTIONS[:1])
    add_part_flags(parser)
    skills = parser.add_argument_group("options of kinds of skills")
    add_option_flags(skills, _SKILL_OPTIONS, "--skill-kind")


def read_setting_flags(args: argparse.Namespace) -> GivenSettings:
    """Reads the flags; paths become absolute, so that a run goes on from any folder.

    Raises:
        OptionError: for an option that the chosen part does not have, or an invalid value.
        PartError: if a chosen part cannot be used.
    """
    # Parts that cannot be used have no options below: these say why.
    PLANNERS.get(args.planner)
    if args.memory not in [*MemoryKind]:
        UPDATERS.get(args.memory)
    return GivenSettings(
        planner=args.planner,
        options=read_option_flags(args, args.planner, PLANNERS.options()),
        backend=args.backend,
        backend_config=absolute_file(args.backend_config),
        sensors=absolute_sensors(args.sensors),
        model=absolute(args.model),
        model_url=args.model_url,
        model_options=read_option_flags(args, model_part(args.model), MODELS.options()),
        model_deadline_s=args.model_deadline,
        agents=args.agents,
        memory=args.memory,
        memory_model=args.memory_model,
        memory_url=args.memory_url,
        memory_second=args.memory_second,
        memory_options=read_option_flags(args, args.memory, UPDATERS.options()),
        skill_options=read_flags(args, SKILL_KIND_OPTIONS),
    )
