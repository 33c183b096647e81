"""The arguments of a bring-up, as `planner up` and `ros2 launch` take them, read and checked."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

from planner.environment import checked_params_file, full_namespace
from planner.memory.part import PERSONS, UPDATERS
from planner.models.chat import MODEL_DEADLINE, MODELS
from planner.models.model_choice import model_part
from planner.parts.catalog import Catalog, Part, PartT
from planner.parts.option import Option, OptionError, OptionValue
from planner.planning.part import PLANNERS
from planner.planning.planner_model import CONTROL
from planner.recorder.bag_writer import EXCLUDE, IMAGES, LIMITS, MAX_BAG_MB, MAX_BAG_S, MAX_TOTAL_MB
from planner.skills.kind import SKILL_KIND_OPTIONS, SkillChoice
from planner.voice.part import CONFIRM, EAR, EARS, LISTEN, MOUTH, MOUTHS
from planner.world.errors import PlannerError, did_you_mean
from sim_bridge.backend import BACKENDS, CAMERA_HZ, CAMERAS, check_sensors

MAX_AGENTS = 6
PLANNER_OF_WORDS = "words"


class ArgumentError(PlannerError):
    """An argument of the bring-up that cannot be used."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        super().__init__(f"argument {name}: {reason}")


# The argument's name and its text, to its value.
Reader = Callable[[str, str], Any]
T = TypeVar("T")
_DECLARED = "argument"


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument, as `ros2 launch` and `planner up` show and check it.

    Attributes:
        name: as typed by the user.
        default: text of the default value.
        description: one line for the help.
        choices: the values allowed; empty = any.
        read: makes a value of a text; None for an option of a part, which reads it.
    """

    name: str
    default: str
    description: str
    choices: tuple[str, ...] = ()
    read: Reader | None = None


def _argument(
    default: T,
    description: str,
    choices: tuple[str, ...] = (),
    *,
    text: str | None = None,
    read: Reader | None = None,
) -> T:
    """A field of `Arguments` that a user sets: the only place that says what it is.

    `text`: how the default is typed, if not as Python prints it.
    """
    shown = str(default) if text is None else text
    if isinstance(default, bool):
        shown, choices, read = shown.lower(), ("true", "false"), lambda _, value: value == "true"
    declared = Argument("", shown, description, choices, read or (lambda _, value: value))
    return field(default=default, metadata={_DECLARED: declared})


def _option(option: Option, read: Reader | None = None) -> Any:
    """A field that is a setting of a node or a command too."""
    default, about = option.default, option.help
    least, most = option.min_value or 0.0, option.max_value or math.inf
    text = str(default)
    if isinstance(default, float):
        text, about = f"{default:g}", f"{about}, {least:g} to {most:g}"
        read = read or _between(least, most)
    elif isinstance(default, int):
        read = read or _up_to(int(most))
    return _argument(default, about, option.choices, text=text, read=read)


def _arguments(options: Iterable[Option]) -> Iterator[Argument]:
    for option in options:
        yield Argument(option.name, str(option.default), option.help, option.choices)


def _between(minimum: float, maximum: float) -> Reader:
    def read(name: str, text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            raise ArgumentError(name, f"{text!r} is not a number") from None
        if not minimum <= number <= maximum:
            raise ArgumentError(name, f"{text} is not between {minimum:g} and {maximum:g}")
        return number

    return read


def _up_to(maximum: int) -> Reader:
    def read(name: str, text: str) -> int:
        # Digits only: int() would also take "1_0", " 1" and Arabic-Indic digits.
        if not (text.isascii() and text.isdigit()):
            raise ArgumentError(name, f"{text!r} is not a whole number of 0 or greater")
        if int(text) > maximum:
            raise ArgumentError(name, f"{text} is greater than {maximum}")
        return int(text)

    return read


def _auto_or(reader: Reader) -> Reader:
    """`auto` is None."""
    return lambda name, text: None if text == "auto" else reader(name, text)


def _by(check: Callable[[str], str]) -> Reader:
    def read(name: str, text: str) -> str:
        try:
            return check(text)
        except PlannerError as error:
            raise ArgumentError(name, str(error)) from None

    return read


def _expression(name: str, text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ArgumentError(name, f"{text!r} is not a regular expression: {error}") from None
    return text


def _names(_name: str, text: str) -> tuple[str, ...]:
    return tuple(filter(None, (each.strip() for each in text.split(","))))


RECORD_LIMITS = tuple(f"record_{option.name}" for option in LIMITS)


@dataclass(frozen=True, slots=True)
class Arguments:
    """Checked arguments of a bring-up."""

    backend: str = _argument("embedded", "the world behind the bridge", BACKENDS.names())
    planner: str = _argument(
        "none",
        f"planner to use; {PLANNER_OF_WORDS} if an instruction is given",
        ("none", "tour", *PLANNERS.names()),
    )
    model: str = _argument(
        "",
        "language model of the planner: a server's name for it, or PART:SOURCE such as "
        f"local:FOLDER; parts: {', '.join(MODELS.names())}",
    )
    model_url: str = _argument("", "address of the model's OpenAI-compatible server, .../v1")
    model_deadline: float = _option(MODEL_DEADLINE)
    find_model: str = _argument("", "language model that answers the Find tools; empty = by rule")
    find_model_url: str = _argument("", "address of its OpenAI-compatible server, .../v1")
    explore_encoder: str = _argument("", "SigLIP or CLIP class folder, for ExploreByView")
    control: str = _option(CONTROL)
    memory: str = _argument(
        "auto",
        "how the memory reads pictures; auto = privileged for a planner that needs a memory",
        ("auto", "none", *UPDATERS.names()),
    )
    memory_model: str = _argument("", "the memory's model: a folder, or a server's name for it")
    memory_url: str = _argument(
        "", "address of a server that takes pictures, for memory:=vlm, .../v1"
    )
    memory_second: str = _argument(
        "", "folder: a LoRA adapter for vlm, SigLIP beside open-vocabulary"
    )
    memory_persons: str = _option(PERSONS)
    # Of the skill executor: `SKILL_KIND_OPTIONS` that differ from the defaults.
    skill_options: Mapping[str, OptionValue] = field(default_factory=dict)
    map: str = _argument(
        "given",
        "given = the robots know the layout's floor; built = they explore it by depth images first",
        ("given", "built"),
    )
    house: str = _argument(
        "",
        "name or file of the house, or for backend:=graph of a scene graph; empty = the "
        "episode's, or the backend's own",
    )
    episode: str = _argument("", "name or file of the episode; empty = only the house")
    seed: int = _argument(0, "random seed; 0 = the episode's", read=_up_to(2**63 - 1))
    agents: int = _argument(
        0, f"number of agents, 1 to {MAX_AGENTS}; 0 = as the episode says", read=_up_to(MAX_AGENTS)
    )
    backend_config: str = _argument(
        "", "file with the settings of the backend; empty = the shipped one"
    )
    safety_config: str = _argument(
        "", "file with the parameters of the safety rules; empty = the shipped one"
    )
    sensors: str = _argument("", "how sensors err: name or file")
    cameras: str = _option(CAMERAS)
    camera_hz: float = _option(CAMERA_HZ)
    record: str = _argument("", "folder for the recording; empty = no recording")
    record_images: str = _option(IMAGES)
    record_image_hz: float | None = _argument(
        None,
        "pictures of each camera to record per simulated second; 0 = all, auto = up to 3, if the "
        "view has changed",
        text="auto",
        read=_auto_or(_between(0.0, 100.0)),
    )
    record_exclude: str = _option(EXCLUDE, _expression)
    record_full: bool = _argument(
        False, "record every topic and every picture as published, at full size"
    )
    record_max_bag_mb: int = _option(MAX_BAG_MB)
    record_max_bag_s: int = _option(MAX_BAG_S)
    record_max_total_mb: int = _option(MAX_TOTAL_MB)
    narrate: bool = _argument(False, "send the instruction, print the story, end with the verdict")
    instruction: str = _argument("", "the narrator's instruction; empty = the episode's")
    answers: str = _argument(
        "", "the narrator's answers to the planner's questions, in turn, separated by ;"
    )
    console: bool = _argument(False, "serve a page to see and steer the robots (console)")
    console_port: int = _argument(
        8642, "port of that page, on this machine; 0 = any free one", read=_up_to(65535)
    )
    console_prices: str = _argument("", "file of what models cost, for that page; empty = none")
    voice: bool = _argument(False, "start an ear and a mouth, to talk with the robots")
    ear: str = _argument(EAR, "what reads what you say", EARS.names())
    mouth: str = _argument(MOUTH, "what says what the robots say", MOUTHS.names())
    voice_url: str = _argument("", "address of a speech server for ear or mouth, .../v1")
    voice_listen: str = _option(LISTEN)
    voice_confirm: str = _option(CONFIRM)
    voice_device: str = _argument(
        "", "sound card of both, or default; empty = topics carry the sound"
    )
    paced: bool = _argument(True, "whether simulated time follows the wall clock")
    pace: float = _argument(
        1.0, "for paced time: simulated seconds per second, 0.1 to 10", read=_between(0.1, 10.0)
    )
    nodes: tuple[str, ...] = _argument(
        (), "nodes that this machine starts, separated by commas; empty = all", text="", read=_names
    )
    params_file: str = _argument(
        "",
        "ROS parameter file for every node; overrides the arguments",
        read=_by(checked_params_file),
    )
    namespace: str = _argument(
        "/", "ROS namespace of the whole stack; empty = none", text="", read=_by(full_namespace)
    )
    log_level: str = _argument(
        "info", "minimum severity of the nodes' logs", ("debug", "info", "warn", "error", "fatal")
    )
    use_sim_time: bool | None = _argument(
        None,
        "whether nodes above the bridge follow /clock; auto = if a simulator paces it",
        ("auto", "true", "false"),
        text="auto",
        read=_auto_or(lambda _, value: value == "true"),
    )
    # Of the planner, its model and the memory updater, by name (`option_arguments`).
    planner_options: Mapping[str, OptionValue] = field(default_factory=dict)
    model_options: Mapping[str, OptionValue] = field(default_factory=dict)
    memory_options: Mapping[str, OptionValue] = field(default_factory=dict)
    ear_options: Mapping[str, OptionValue] = field(default_factory=dict)
    mouth_options: Mapping[str, OptionValue] = field(default_factory=dict)

    @staticmethod
    def from_text(given: Mapping[str, str]) -> Arguments:
        """Check arguments as a user types them; those that are absent get their defaults.

        Raises:
            ArgumentError: for the first unknown name or unusable value.
        """
        known = {argument.name: argument for argument in ARGUMENTS}
        of_planner = _options_of(PLANNERS, given.get("planner", ""))
        of_memory = _options_of(UPDATERS, given.get("memory", ""))
        of_model = _options_of(MODELS, model_part(given.get("model", "")))
        of_ear = _options_of(EARS, given.get("ear", EAR))
        of_mouth = _options_of(MOUTHS, given.get("mouth", MOUTH))
        options = {**of_planner, **of_memory, **of_model, **of_ear, **of_mouth}
        for name in given:
            if name not in known and name not in options:
                near = did_you_mean(name, [*known, *options])
                raise ArgumentError(name, f"unknown; there are {', '.join(known)}{near}")
        text = {name: given.get(name, argument.default) for name, argument in known.items()}
        if text["instruction"] and "planner" not in given:
            text["planner"] = PLANNER_OF_WORDS
        for name, value in text.items():
            choices = known[name].choices
            if choices and value not in choices:
                listed, near = ", ".join(choices), did_you_mean(value, choices)
                raise ArgumentError(name, f"{value!r} is not one of {listed}{near}")
        if _needs_model(text["planner"]) and not text["model"]:
            words = f"the planner {text['planner']} needs one, and model_url its server"
            raise ArgumentError("model", words)
        _check_memory(text)
        _check_map(text)
        _check_sensors(text)
        _check_voice(text)
        _check_time(text)
        if text["narrate"] == "true" and not (text["episode"] or text["instruction"]):
            raise ArgumentError("narrate", "needs an episode, or an instruction")
        if text["instruction"] and text["narrate"] != "true":
            raise ArgumentError(
                "instruction", "narrate:=true gives it; running nodes get one by planner instruct"
            )
        return Arguments(
            **{each.name: each.read(each.name, text[each.name]) for each in ARGUMENTS if each.read},
            planner_options=_read(of_planner, given),
            model_options=_read(of_model, given),
            memory_options=_read(of_memory, given),
            ear_options=_read(of_ear, given),
            mouth_options=_read(of_mouth, given),
            skill_options=_skill_options(text),
        )


def _declared() -> Iterator[Argument]:
    for each in fields(Arguments):
        if each.name == "skill_options":
            yield from _arguments(SKILL_KIND_OPTIONS)
        elif _DECLARED in each.metadata:
            yield replace(each.metadata[_DECLARED], name=each.name)


# In the order in which help shows them.
ARGUMENTS = tuple(_declared())


def option_arguments() -> tuple[Argument, ...]:
    """The options of all planners, models and updaters as arguments; loads their records."""
    found: dict[str, Argument] = {}
    parts: list[Part] = [
        *PLANNERS.usable().values(),
        *MODELS.usable().values(),
        *UPDATERS.usable().values(),
        *EARS.usable().values(),
        *MOUTHS.usable().values(),
    ]
    for part in parts:
        for argument in _arguments(part.options):
            found.setdefault(argument.name, argument)
    return tuple(found.values())


def _options_of(catalog: Catalog[PartT], name: str) -> dict[str, Option]:
    part = catalog.get(name) if name in catalog.names() else None
    return {} if part is None else {option.name: option for option in part.options}


def _read(options: Mapping[str, Option], given: Mapping[str, str]) -> dict[str, OptionValue]:
    return {name: option.read(given[name]) for name, option in options.items() if name in given}


def _skill_options(text: Mapping[str, str]) -> dict[str, OptionValue]:
    """The given options of skills, which make a choice that can be used."""
    try:
        values = {option.name: option.read(text[option.name]) for option in SKILL_KIND_OPTIONS}
        choice = SkillChoice.of(values)
    except OptionError as error:
        raise ArgumentError(error.name, error.reason) from None
    given = {o.name: values[o.name] for o in SKILL_KIND_OPTIONS if values[o.name] != o.default}
    if given and text["planner"] in ("none", "tour"):
        raise ArgumentError(next(iter(given)), f"planner:={text['planner']} runs no skills")
    try:
        choice.check()
    except PlannerError as error:
        of_hand = choice.hand_policy is not None and str(choice.hand_policy) in str(error)
        name = "skill_hand_policy" if of_hand else "skill_policy"
        raise ArgumentError(name, str(error)) from None
    return given


def _check_memory(text: Mapping[str, str]) -> None:
    name, backend = text["memory"], text["backend"]
    part = UPDATERS.get(name) if name in UPDATERS.names() else None
    if part is not None and part.needs_model and not text["memory_model"]:
        raise ArgumentError("memory_model", f"the memory {name} needs one")
    if text["memory_url"] and not (part is not None and part.takes_server):
        raise ArgumentError("memory_url", f"the memory {name} asks no server")
    if text["memory_persons"] and (name == "none" or _is_idle(text)):
        raise ArgumentError(
            "memory_persons", "there is no memory; name one, such as memory:=learned"
        )
    if part is not None and part.needs_pictures and not BACKENDS.get(backend).has_pictures:
        fit = ", ".join(n for n, other in UPDATERS.usable().items() if not other.needs_pictures)
        raise ArgumentError(
            "memory", f"{name} needs pictures, which backend:={backend} does not have; use {fit}"
        )


def _is_idle(text: Mapping[str, str]) -> bool:
    """Whether nothing needs the memory that `auto` would choose."""
    return text["memory"] == "auto" and text["planner"] in ("none", "tour")


def _check_map(text: Mapping[str, str]) -> None:
    """A built map needs pictures and a memory that reads them."""
    if text["map"] != "built":
        return
    if not BACKENDS.get(text["backend"]).has_pictures:
        raise ArgumentError("map", f"built needs pictures; backend:={text['backend']} has none")
    if text["memory"] == "none" or _is_idle(text):
        raise ArgumentError("map", "built needs a memory, such as memory:=privileged")


def _check_sensors(text: Mapping[str, str]) -> None:
    try:
        check_sensors(text["backend"], text["sensors"])
    except PlannerError as error:
        raise ArgumentError("sensors", str(error).removeprefix("sensors: ")) from None


def _check_voice(text: Mapping[str, str]) -> None:
    """Sound leaves this machine only to a server that is named, for a part that asks one."""
    ear, mouth = EARS.get(text["ear"]), MOUTHS.get(text["mouth"])
    asks = [name for name, part in (("ear", ear), ("mouth", mouth)) if part.needs_url]
    if asks and not text["voice_url"]:
        raise ArgumentError("voice_url", f"{asks[0]}:={text[asks[0]]} needs one, .../v1")
    if text["voice_url"] and not asks:
        raise ArgumentError("voice_url", "neither ear nor mouth asks a server")


def _needs_model(planner: str) -> bool:
    return planner in PLANNERS.names() and PLANNERS.get(planner).needs.model


def _check_time(text: Mapping[str, str]) -> None:
    backend = text["backend"]
    if text["use_sim_time"] == "true" and not BACKENDS.get(backend).simulated:
        raise ArgumentError("use_sim_time", f"nobody publishes /clock with backend:={backend}")
