"""What `planner bench table all` compares: every planner, with each model that can answer it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from planner.bench.runs.settings import MemoryKind, RunSettings
from planner.models.model_choice import absolute, part_and_source
from planner.models.part import ModelPart
from planner.parts.kinds import MODELS, PLANNERS
from planner.parts.option import Option, OptionValue, read_options
from planner.planning.part import PlannerPart
from planner.world.errors import PlannerError
from planner.world.nearest import did_you_mean

# The option by which a privileged model errs.
_FAULTS = "fault_rate"


@dataclass(frozen=True, slots=True)
class Contestant:
    """A planner with its settings; `name` is also that of its run's directory."""

    name: str
    settings: RunSettings


@dataclass(frozen=True, slots=True)
class Field:
    """Who runs; a line for each of the others says why it does not."""

    contestants: tuple[Contestant, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """What is compared.

    Attributes:
        planners: their names; empty = all.
        fault_rates: of the privileged model that stands for flawless ones, one run for each.
        models: further models, each with every planner that can use one.
        model_url: of their server.
        agents: how many act; 0 = all of the episode.
        backend: the simulator in which all run; "" = that of the house.
        backend_config: its settings file; "" = the shipped one.
        options: by name, as text; each goes to the planners and models that have it.
    """

    planners: Sequence[str] = ()
    fault_rates: Sequence[float] = (0.0,)
    models: Sequence[str] = ()
    model_url: str = ""
    agents: int = 1
    backend: str = ""
    backend_config: str = ""
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Found:
    contestants: list[Contestant] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def field_of(asked: Asked) -> Field:
    """The runs that the planners' records allow, in order of their names.

    A planner runs without a model if it can, with the privileged model at each fault rate if it
    tells what right replies are, and with each named model if it uses models.

    Raises:
        PlannerError: for an unknown planner or model, or if nothing can be run.
    """
    for name in asked.planners:
        PLANNERS.get(name)
    _check_options(asked.options)
    found = _Found(left_out=list(PLANNERS.problems()))
    for name, part in PLANNERS.usable().items():
        if asked.planners and name not in asked.planners:
            continue
        _add(name, part, asked, found)
    if not found.contestants:
        raise PlannerError(f"no planner can be run: {'; '.join(found.left_out)}")
    return Field(tuple(found.contestants), tuple(found.left_out))


def _add(name: str, part: PlannerPart, asked: Asked, found: _Found) -> None:
    if lacking := part.lacking(_own(part.options, asked.options)):
        found.left_out.append(f"{name}: needs the option {lacking}: --option {lacking}=VALUE")
        return
    runs = list(_runs(name, part, asked))
    if not runs:
        other = ", or a --fault-rate" if part.tells_replies else ""
        found.left_out.append(f"{name}: needs a language model: name one with --model{other}")
    for run in runs:
        try:
            run.settings.check()
        except PlannerError as error:
            found.left_out.append(f"{run.name}: {error}")
        else:
            found.contestants.append(run)


def _runs(name: str, part: PlannerPart, asked: Asked) -> Iterator[Contestant]:
    options = _own(part.options, asked.options)
    full = part.needs_full_memory or part.full_memory_for(read_options(part.options, options))
    plain = RunSettings(
        planner=name,
        agents=asked.agents,
        backend=asked.backend,
        backend_config=asked.backend_config,
        memory=(MemoryKind.FULL if full else MemoryKind.RAYS).value,
        options=options,
    )
    if not part.needs_model:
        yield Contestant(name, plain)
    if part.tells_replies:
        for model, errs in _privileged().items():
            own = _own(errs.options, asked.options)
            for rate in asked.fault_rates:
                given = {"model": model, "model_options": {**own, _FAULTS: rate}}
                yield Contestant(f"{name}-{model}-{rate:g}", _with(plain, given))
    if part.needs_model or part.takes_model:
        for model in asked.models:
            kind, _ = part_and_source(model)
            given = {
                "model": absolute(model),
                "model_url": asked.model_url,
                "model_options": _own(MODELS.get(kind).options if kind else (), asked.options),
            }
            yield Contestant(f"{name}-{_plain_name(model)}", _with(plain, given))


def _own(declared: Iterable[Option], given: Mapping[str, str]) -> dict[str, OptionValue]:
    """The given values of declared options.

    Raises:
        OptionError: for an invalid value.
    """
    return {
        option.name: option.read(given[option.name]) for option in declared if option.name in given
    }


def _check_options(given: Mapping[str, str]) -> None:
    declared = [part.options for part in PLANNERS.usable().values()]
    declared += [part.options for part in MODELS.usable().values()]
    known = {option.name for options in declared for option in options}
    unknown = [name for name in given if name not in known]
    if unknown:
        near = did_you_mean(unknown[0], sorted(known))
        raise PlannerError(f"no planner and no model has an option {unknown[0]!r}{near}")


def _privileged() -> Mapping[str, ModelPart]:
    """Models that read the goal, and err at a given rate."""
    return {name: part for name, part in MODELS.usable().items() if _errs(part)}


def _errs(part: ModelPart) -> bool:
    return part.reads_goal and any(option.name == _FAULTS for option in part.options)


def _with(settings: RunSettings, given: Mapping[str, object]) -> RunSettings:
    try:
        return RunSettings.model_validate({**settings.model_dump(), **given})
    except ValueError as error:
        raise PlannerError(f"a setting is out of its range: {error}") from None


def _plain_name(model: str) -> str:
    """A model's name as that of a folder."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", model).strip("._") or "model"
