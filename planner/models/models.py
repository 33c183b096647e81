"""The chat models of this project by name."""

from collections.abc import Mapping
from pathlib import Path

from planner.models.chat import TEMPERATURE, ChatModel, Fault, Knows, ModelPart, ModelRequest, Role
from planner.models.recorded import RecordedModel
from planner.models.teacher import ScriptedModel
from planner.parts.option import Option
from planner.world.errors import FileError, PlannerError
from planner.world.files import read_document, read_text

DIALECTS = ("auto", "vllm", "llamacpp", "none")


def _make_server(request: ModelRequest) -> ChatModel:
    from planner.models.openai_compatible import Dialect, OpenAiCompatible

    return OpenAiCompatible(
        request.url,
        request.source,
        dialect=Dialect(request.text("dialect")),
        temperature=request.number("temperature"),
    )


def _make_local(request: ModelRequest) -> ChatModel:
    folder, device = Path(request.source), request.text("device")
    adapter = Path(request.text("adapter")) if request.text("adapter") else None
    if _kind(folder) == "llava_onevision":
        from planner.models.in_process_vision import InProcessVision

        return InProcessVision(folder, device=device, adapter=adapter)
    from planner.models.in_process import InProcessModel

    temperature = request.number("temperature")
    return InProcessModel(folder, device=device, adapter=adapter, temperature=temperature)


def _make_gguf(request: ModelRequest) -> ChatModel:
    return _gguf(request, Path(request.source), Path(request.source).stem)


def _make_smollm2(request: ModelRequest) -> ChatModel:
    from planner.models.gguf import SMOLLM2, smollm2_file

    return _gguf(request, smollm2_file(), SMOLLM2)


def _gguf(request: ModelRequest, file: Path, name: str) -> ChatModel:
    from planner.models.gguf import Engine, GgufModel, free_cores

    adapter = _adapter(request)
    engine = Engine(
        str(file),
        (adapter,) if adapter else (),
        context=int(request.number("context")),
        slots=int(request.number("slots")),
        threads=int(request.number("threads")) or free_cores(),
    )
    named = f"{name}+{Path(adapter).name.partition('.')[0]}" if adapter else name
    return GgufModel(
        engine, named, adapter=0 if adapter else -1, temperature=request.number("temperature")
    )


def _check_gguf(request: ModelRequest) -> None:
    from planner.models.gguf import check_gguf

    if request.source:
        check_gguf(Path(request.source))
    if adapter := _adapter(request):
        check_gguf(Path(adapter))


def _adapter(request: ModelRequest) -> str:
    """The file of the adapter; "" = none. A name stands for one that ships with this package."""
    from planner.models.gguf import shipped_adapters

    given = request.text("adapter")
    if not given or Path(given).exists():
        return given
    shipped = shipped_adapters()
    # Command lines have made it a path.
    file = shipped.get(Path(given).name)
    if file is None and Path(given).suffix != ".gguf":
        names = ", ".join(shipped) or "none"
        raise PlannerError(f"adapter {given}: no such file, nor one that ships ({names})")
    return given if file is None else str(file)


def _kind(folder: Path) -> str:
    """The architecture; "" if the file cannot be read, which loading then reports."""
    try:
        config = read_document(folder / "config.json")
    except FileError:
        return ""
    return str(config.get("model_type", "")) if isinstance(config, dict) else ""


# The roles of LLaMAR whose replies others read.
_JUDGES = (Role.PLANNER, Role.CORRECTOR, Role.VERIFIER)


def _make_teacher(request: ModelRequest) -> ChatModel:
    from planner.models.teacher import Skill, Teacher

    kinds = _kinds(request.text("fault_kinds"))
    shared = request.number("fault_rate") / len(kinds)
    rates = {f: request.number(f.value) + (shared if f in kinds else 0.0) for f in Fault}
    shares = {role: request.number(_share(role)) for role in _JUDGES}
    knows = Knows(request.text("teacher_knows"))
    return Teacher(Skill(rates, request.number("heeding"), knows, shares))


def _kinds(words: str) -> tuple[Fault, ...]:
    """The faults of a comma-separated list; all where it is empty."""
    named = [word.strip() for word in words.split(",") if word.strip()]
    unknown = [word for word in named if word not in [*Fault]]
    if unknown:
        known = ", ".join(Fault)
        raise PlannerError(f"fault_kinds has {unknown[0]!r}, which is not a fault: {known}")
    return tuple(fault for fault in Fault if fault in named) or tuple(Fault)


def _share(role: Role) -> str:
    return f"{role.value}_faults"


def _check_teacher(request: ModelRequest) -> None:
    _make_teacher(request)


def _rate(name: str, meaning: str) -> Option:
    return Option(name, 0.0, meaning, min_value=0.0, max_value=1.0)


_MEANINGS = {
    Fault.INVENTED_ENTITY: "share of replies that name something that does not exist",
    Fault.WRONG_ENTITY: "share of replies that name something else than they should",
    Fault.SKIPPED_STEP: "share of replies that leave a step out",
    Fault.REPEATED_STEP: "share of replies that repeat a step",
    Fault.EARLY_DONE: "share of replies that claim that the task is complete",
    Fault.MALFORMED: "share of replies that break off",
    Fault.UNNOTICED_FAILURE: "share of replies that take a failed action for a success",
}


def _make_scripted(request: ModelRequest) -> ChatModel:
    path = Path(request.source)
    if path.is_dir():
        path /= f"{request.episode_id}.txt"
    text = read_text(path)
    return ScriptedModel([part.strip() for part in text.split("\n\n") if part.strip()])


def _make_recorded(request: ModelRequest) -> ChatModel:
    from planner.models.recorded import dialogue_path

    path = Path(request.source)
    if path.is_dir():
        path = dialogue_path(path, f"{request.episode_id}-{request.seed}")
    return RecordedModel(path)


def _check_recorded(request: ModelRequest) -> None:
    path = Path(request.source)
    if path.is_dir() and not (path / "manifest.json").is_file():
        raise PlannerError(f"{path}: is not a run with dialogues to replay")


def _make_roles(request: ModelRequest) -> ChatModel:
    from planner.models.model_choice import make_role_models

    return make_role_models(Path(request.source))


def _check_roles(request: ModelRequest) -> None:
    from planner.models.model_choice import read_role_file

    read_role_file(Path(request.source))


_GGUF_OPTIONS = (
    TEMPERATURE,
    Option(
        "adapter",
        "",
        "LoRA adapter for the model: a GGUF file, or the name of one that ships, such as react",
        is_path=True,
    ),
    Option(
        "context", 8192, "tokens of a dialogue, prompt and reply", min_value=256, max_value=1 << 20
    ),
    Option("slots", 2, "dialogues whose prompts are kept", min_value=1, max_value=64),
    Option("threads", 0, "of the engine; 0 = the cores less one", min_value=0, max_value=256),
)

MODELS: Mapping[str, ModelPart] = {
    "server": ModelPart(
        summary="behind an OpenAI-compatible server; a plain name with an address means it",
        make=_make_server,
        source="NAME",
        needs_url=True,
        takes_pictures=True,
        options=(
            TEMPERATURE,
            Option(
                "dialect",
                "auto",
                "how the server accepts a grammar; auto = detect",
                choices=DIALECTS,
            ),
        ),
    ),
    "local": ModelPart(
        summary="transformers in this process, with grammars; extra local, with pictures vlm",
        make=_make_local,
        source="FOLDER",
        source_is_path=True,
        takes_pictures=True,
        holds_grammar=True,
        options=(
            TEMPERATURE,
            Option("device", "cpu", "torch device for the model"),
            Option("adapter", "", "folder of a LoRA adapter for the model", is_path=True),
        ),
    ),
    "gguf": ModelPart(
        summary="a GGUF file of yours by llama.cpp, in a process of its own; extra smollm",
        make=_make_gguf,
        source="FILE",
        source_is_path=True,
        holds_grammar=True,
        check=_check_gguf,
        options=_GGUF_OPTIONS,
    ),
    "smollm2": ModelPart(
        summary="SmolLM2-135M-Instruct by llama.cpp, in a process of its own; extra smollm",
        make=_make_smollm2,
        holds_grammar=True,
        check=_check_gguf,
        options=_GGUF_OPTIONS,
    ),
    "teacher": ModelPart(
        summary="privileged: reads the goal and replies as a flawless model, with seeded faults",
        make=_make_teacher,
        reads_goal=True,
        check=_check_teacher,
        options=(
            _rate("fault_rate", "share of replies with a fault, all of fault_kinds alike"),
            Option("fault_kinds", "", "the kinds of faults that share fault_rate; empty = all"),
            *(_rate(fault.value, meaning) for fault, meaning in _MEANINGS.items()),
            *(
                Option(
                    _share(role),
                    1.0,
                    f"part of the fault rates that holds for a team's {role.value.capitalize()}",
                    min_value=0.0,
                    max_value=1.0,
                )
                for role in _JUDGES
            ),
            Option(
                "teacher_knows",
                Knows.PROMPT.value,
                "what right replies follow from: the prompt, or all that the memory knows",
                choices=tuple(Knows),
            ),
            _rate(
                "heeding",
                "share of replies that follow what other roles wrote, or examples, rather than err",
            ),
        ),
    ),
    "scripted": ModelPart(
        summary="replies from a file, separated by blank lines, or from EPISODE.txt in a folder",
        make=_make_scripted,
        source="FILE",
        source_is_path=True,
        per_episode=True,
        takes_pictures=True,
    ),
    "recorded": ModelPart(
        summary="replies recorded from another model, or in dialogues of a run of planner bench",
        make=_make_recorded,
        source="FILE",
        source_is_path=True,
        per_episode=True,
        takes_pictures=True,
        check=_check_recorded,
    ),
    "roles": ModelPart(
        summary="a model of its own for each role, by a YAML file",
        make=_make_roles,
        source="FILE",
        source_is_path=True,
        takes_pictures=True,
        check=_check_roles,
    ),
}
