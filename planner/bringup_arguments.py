"""The arguments of a bring-up, as `planner up` and `ros2 launch` take them, read and checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from planner.environment import checked_params_file, full_namespace
from planner.memory.part import UPDATERS
from planner.models.chat import MODELS
from planner.models.model_choice import model_part
from planner.parts.catalog import Catalog, Part, PartT
from planner.parts.option import Option, OptionError, OptionValue
from planner.planning.part import PLANNERS
from planner.skills.kind import SKILL_KIND_OPTIONS, SkillChoice
from planner.voice.part import EARS, MOUTHS
from planner.world.errors import PlannerError, did_you_mean
from sim_bridge.backend import BACKENDS, check_sensors

MAX_AGENTS = 6
PLANNER_OF_WORDS = "words"


class ArgumentError(PlannerError):
    """An argument of the bring-up that cannot be used."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        super().__init__(f"argument {name}: {reason}")


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument, as `ros2 launch` and `planner up` show and check it.

    Attributes:
        name: as typed by the user.
        default: text of the default value.
        description: one line for the help.
        choices: the values allowed; empty = any.
    """

    name: str
    default: str
    description: str
    choices: tuple[str, ...] = ()


def _arguments(options: Iterable[Option]) -> Iterator[Argument]:
    for option in options:
        yield Argument(option.name, str(option.default), option.help, option.choices)


# As in planner.recorder.node: pictures that are rendered only for subscribers, and voices.
UNRECORDED = r".*/body/(image|camera_info)|.*/voice/(audio|sound)"
RECORD_LIMITS = ("record_max_bag_mb", "record_max_bag_s", "record_max_total_mb")
ARGUMENTS: tuple[Argument, ...] = (
    Argument("backend", "embedded", "the world behind the bridge", BACKENDS.names()),
    Argument(
        "planner",
        "none",
        f"planner to use; {PLANNER_OF_WORDS} if an instruction is given",
        ("none", "tour", *PLANNERS.names()),
    ),
    Argument(
        "model",
        "",
        "language model of the planner: a server's name for it, or PART:SOURCE such as "
        f"local:FOLDER; parts: {', '.join(MODELS.names())}",
    ),
    Argument("model_url", "", "address of the model's OpenAI-compatible server, .../v1"),
    Argument("model_deadline", "60", "seconds for one reply of it, 0.1 to 3600"),
    Argument("find_model", "", "language model that answers the Find tools; empty = by rule"),
    Argument("find_model_url", "", "address of its OpenAI-compatible server, .../v1"),
    Argument("explore_encoder", "", "SigLIP or CLIP class folder, for ExploreByView"),
    Argument(
        "control",
        "decentralized",
        "for a planner with a model: a dialogue for each agent, or one for all",
        ("single", "centralized", "decentralized"),
    ),
    Argument(
        "memory",
        "auto",
        "how the memory reads pictures; auto = privileged for a planner that needs a memory",
        ("auto", "none", *UPDATERS.names()),
    ),
    Argument("memory_model", "", "the memory's model: a folder, or a server's name for it"),
    Argument("memory_url", "", "address of a server that takes pictures, for memory:=vlm, .../v1"),
    Argument("memory_second", "", "folder: a LoRA adapter for vlm, SigLIP beside open-vocabulary"),
    *_arguments(SKILL_KIND_OPTIONS),
    Argument(
        "map",
        "given",
        "given = the robots know the layout's floor; built = they explore it by depth images first",
        ("given", "built"),
    ),
    Argument(
        "house",
        "",
        "name or file of the house, or for backend:=graph of a scene graph; empty = the "
        "episode's, or the backend's own",
    ),
    Argument("episode", "", "name or file of the episode; empty = only the house"),
    Argument("seed", "0", "random seed; 0 = the episode's"),
    Argument("agents", "0", f"number of agents, 1 to {MAX_AGENTS}; 0 = as the episode says"),
    Argument(
        "backend_config", "", "file with the settings of the backend; empty = the shipped one"
    ),
    Argument(
        "safety_config", "", "file with the parameters of the safety rules; empty = the shipped one"
    ),
    Argument("sensors", "", "how sensors err: name or file"),
    Argument("cameras", "hand,body", "cameras to publish, separated by commas"),
    Argument("camera_hz", "10.0", "pictures of each camera per simulated second, 0.1 to 30"),
    Argument("record", "", "folder for the recording; empty = no recording"),
    Argument(
        "record_images",
        "compressed",
        "pictures in the bag: JPEG or PNG, depth in millimetres; as published; none",
        ("compressed", "raw", "none"),
    ),
    Argument(
        "record_image_hz",
        "auto",
        "pictures of each camera to record per simulated second; 0 = all, auto = up to 3, if the "
        "view has changed",
    ),
    Argument("record_exclude", UNRECORDED, "topics not to record, a regular expression"),
    Argument(
        "record_full",
        "false",
        "record every topic and every picture as published, at full size",
        ("true", "false"),
    ),
    Argument(
        "record_max_bag_mb", "1000", "MB after which the bag goes on in its next file; 0 = any"
    ),
    Argument("record_max_bag_s", "600", "wall seconds after which it does so, too; 0 = never"),
    Argument(
        "record_max_total_mb",
        "20000",
        "MB above which the bag's oldest files but the first are deleted; 0 = any",
    ),
    Argument(
        "narrate",
        "false",
        "send the instruction, print the story, end with the verdict",
        ("true", "false"),
    ),
    Argument("instruction", "", "the narrator's instruction; empty = the episode's"),
    Argument(
        "answers", "", "the narrator's answers to the planner's questions, in turn, separated by ;"
    ),
    Argument(
        "console", "false", "serve a page to see and steer the robots (console)", ("true", "false")
    ),
    Argument("console_port", "8642", "port of that page, on this machine; 0 = any free one"),
    Argument("console_prices", "", "file of what models cost, for that page; empty = none"),
    Argument(
        "voice", "false", "start an ear and a mouth, to talk with the robots", ("true", "false")
    ),
    Argument("ear", "pocketsphinx", "what reads what you say", EARS.names()),
    Argument("mouth", "espeak", "what says what the robots say", MOUTHS.names()),
    Argument("voice_url", "", "address of a speech server for ear or mouth, .../v1"),
    Argument(
        "voice_listen",
        "push",
        "push = the ear takes words while the button is held; always = whenever somebody speaks",
        ("push", "always"),
    ),
    Argument(
        "voice_confirm",
        "auto",
        "whether a task that was heard waits for a yes; auto = if the ear mishears often",
        ("auto", "always", "never"),
    ),
    Argument("voice_device", "", "sound card of both, or default; empty = topics carry the sound"),
    Argument("paced", "true", "whether simulated time follows the wall clock", ("true", "false")),
    Argument("pace", "1.0", "for paced time: simulated seconds per second, 0.1 to 10"),
    Argument("nodes", "", "nodes that this machine starts, separated by commas; empty = all"),
    Argument("params_file", "", "ROS parameter file for every node; overrides the arguments"),
    Argument("namespace", "", "ROS namespace of the whole stack; empty = none"),
    Argument(
        "log_level",
        "info",
        "minimum severity of the nodes' logs",
        ("debug", "info", "warn", "error", "fatal"),
    ),
    Argument(
        "use_sim_time",
        "auto",
        "whether nodes above the bridge follow /clock; auto = if a simulator paces it",
        ("auto", "true", "false"),
    ),
)


@dataclass(frozen=True, slots=True)
class Arguments:
    """Checked arguments of a bring-up; each field is explained in `ARGUMENTS`."""

    backend: str = "embedded"
    planner: str = "none"
    model: str = ""
    model_url: str = ""
    model_deadline: float = 60.0
    find_model: str = ""
    find_model_url: str = ""
    explore_encoder: str = ""
    control: str = "decentralized"
    memory: str = "auto"
    memory_model: str = ""
    memory_url: str = ""
    memory_second: str = ""
    map: str = "given"
    house: str = ""
    episode: str = ""
    seed: int = 0
    agents: int = 0
    backend_config: str = ""
    safety_config: str = ""
    sensors: str = ""
    cameras: str = "hand,body"
    camera_hz: float = 10.0
    record: str = ""
    record_images: str = "compressed"
    record_image_hz: float | None = None
    record_exclude: str = UNRECORDED
    record_full: bool = False
    record_max_bag_mb: int = 1000
    record_max_bag_s: int = 600
    record_max_total_mb: int = 20_000
    narrate: bool = False
    instruction: str = ""
    answers: str = ""
    console: bool = False
    console_port: int = 8642
    console_prices: str = ""
    voice: bool = False
    ear: str = "pocketsphinx"
    mouth: str = "espeak"
    voice_url: str = ""
    voice_listen: str = "push"
    voice_confirm: str = "auto"
    voice_device: str = ""
    paced: bool = True
    pace: float = 1.0
    nodes: tuple[str, ...] = ()
    params_file: str = ""
    namespace: str = "/"
    log_level: str = "info"
    use_sim_time: bool | None = None
    # Of the planner, its model and the memory updater, by name (`option_arguments`).
    planner_options: Mapping[str, OptionValue] = field(default_factory=dict)
    model_options: Mapping[str, OptionValue] = field(default_factory=dict)
    memory_options: Mapping[str, OptionValue] = field(default_factory=dict)
    ear_options: Mapping[str, OptionValue] = field(default_factory=dict)
    mouth_options: Mapping[str, OptionValue] = field(default_factory=dict)
    # Of the skill executor: `SKILL_KIND_OPTIONS` that differ from the defaults.
    skill_options: Mapping[str, OptionValue] = field(default_factory=dict)

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
        of_ear = _options_of(EARS, given.get("ear", "pocketsphinx"))
        of_mouth = _options_of(MOUTHS, given.get("mouth", "espeak"))
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
        if text["narrate"] == "true" and not (text["episode"] or text["instruction"]):
            raise ArgumentError("narrate", "needs an episode, or an instruction")
        if text["instruction"] and text["narrate"] != "true":
            raise ArgumentError(
                "instruction", "narrate:=true gives it; running nodes get one by planner instruct"
            )
        return Arguments(
            backend=text["backend"],
            backend_config=text["backend_config"],
            safety_config=text["safety_config"],
            planner=text["planner"],
            model=text["model"],
            model_url=text["model_url"],
            model_deadline=_number(
                "model_deadline", text["model_deadline"], minimum=0.1, maximum=3600.0
            ),
            find_model=text["find_model"],
            find_model_url=text["find_model_url"],
            explore_encoder=text["explore_encoder"],
            control=text["control"],
            planner_options=_read(of_planner, given),
            model_options=_read(of_model, given),
            memory=text["memory"],
            memory_model=text["memory_model"],
            memory_url=text["memory_url"],
            memory_second=text["memory_second"],
            memory_options=_read(of_memory, given),
            skill_options=_skill_options(text),
            map=text["map"],
            house=text["house"],
            episode=text["episode"],
            seed=_whole("seed", text["seed"], maximum=2**63 - 1),
            agents=_whole("agents", text["agents"], maximum=MAX_AGENTS),
            sensors=text["sensors"],
            cameras=text["cameras"],
            camera_hz=_number("camera_hz", text["camera_hz"], minimum=0.1, maximum=30.0),
            record=text["record"],
            record_images=text["record_images"],
            record_image_hz=(
                None
                if text["record_image_hz"] == "auto"
                else _number("record_image_hz", text["record_image_hz"], minimum=0.0, maximum=100.0)
            ),
            record_exclude=_expression("record_exclude", text["record_exclude"]),
            record_full=text["record_full"] == "true",
            record_max_bag_mb=_limit("record_max_bag_mb", text),
            record_max_bag_s=_limit("record_max_bag_s", text),
            record_max_total_mb=_limit("record_max_total_mb", text),
            narrate=text["narrate"] == "true",
            instruction=text["instruction"],
            answers=text["answers"],
            console=text["console"] == "true",
            console_port=_whole("console_port", text["console_port"], maximum=65535),
            console_prices=text["console_prices"],
            voice=text["voice"] == "true",
            ear=text["ear"],
            ear_options=_read(of_ear, given),
            mouth=text["mouth"],
            mouth_options=_read(of_mouth, given),
            voice_url=text["voice_url"],
            voice_listen=text["voice_listen"],
            voice_confirm=text["voice_confirm"],
            voice_device=text["voice_device"],
            paced=text["paced"] == "true",
            pace=_number("pace", text["pace"], minimum=0.1, maximum=10.0),
            nodes=tuple(filter(None, (each.strip() for each in text["nodes"].split(",")))),
            params_file=_checked("params_file", checked_params_file, text["params_file"]),
            namespace=_checked("namespace", full_namespace, text["namespace"]),
            log_level=text["log_level"],
            use_sim_time=_sim_time(text["use_sim_time"], text["backend"]),
        )


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
    if part is not None and part.needs_pictures and not BACKENDS.get(backend).has_pictures:
        fit = ", ".join(n for n, other in UPDATERS.usable().items() if not other.needs_pictures)
        raise ArgumentError(
            "memory", f"{name} needs pictures, which backend:={backend} does not have; use {fit}"
        )


def _check_map(text: Mapping[str, str]) -> None:
    """A built map needs pictures and a memory that reads them."""
    if text["map"] != "built":
        return
    if not BACKENDS.get(text["backend"]).has_pictures:
        raise ArgumentError("map", f"built needs pictures; backend:={text['backend']} has none")
    idle = text["memory"] == "auto" and text["planner"] in ("none", "tour")
    if text["memory"] == "none" or idle:
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


def _number(name: str, text: str, *, minimum: float, maximum: float) -> float:
    try:
        number = float(text)
    except ValueError:
        raise ArgumentError(name, f"{text!r} is not a number") from None
    if not minimum <= number <= maximum:
        raise ArgumentError(name, f"{text} is not between {minimum:g} and {maximum:g}")
    return number


def _checked(name: str, check: Callable[[str], str], text: str) -> str:
    try:
        return check(text)
    except PlannerError as error:
        raise ArgumentError(name, str(error)) from None


def _sim_time(text: str, backend: str) -> bool | None:
    if text == "true" and not BACKENDS.get(backend).simulated:
        raise ArgumentError("use_sim_time", f"nobody publishes /clock with backend:={backend}")
    return None if text == "auto" else text == "true"


def _expression(name: str, text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ArgumentError(name, f"{text!r} is not a regular expression: {error}") from None
    return text


def _limit(name: str, text: Mapping[str, str]) -> int:
    return _whole(name, text[name], maximum=10**9)


def _whole(name: str, value: str, *, maximum: int) -> int:
    # Digits only: int() would also take "1_0", " 1" and Arabic-Indic digits.
    if not (value.isascii() and value.isdigit()):
        raise ArgumentError(name, f"{value!r} is not a whole number of 0 or greater")
    number = int(value)
    if number > maximum:
        raise ArgumentError(name, f"{value} is greater than {maximum}")
    return number
