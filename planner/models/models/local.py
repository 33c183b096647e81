"""Model `local`: transformers in this process, with or without pictures."""

from pathlib import Path

from planner.models.chat import ChatModel
from planner.models.part import TEMPERATURE, ModelPart, ModelRequest
from planner.parts.option import Option
from planner.world.errors import FileError
from planner.world.files import read_document


def _make(request: ModelRequest) -> ChatModel:
    folder, device = Path(request.source), request.text("device")
    adapter = Path(request.text("adapter")) if request.text("adapter") else None
    if _kind(folder) == "llava_onevision":
        from planner.models.in_process_vision import InProcessVision

        return InProcessVision(folder, device=device, adapter=adapter)
    from planner.models.in_process import InProcessModel

    temperature = request.number("temperature")
    return InProcessModel(folder, device=device, adapter=adapter, temperature=temperature)


def _kind(folder: Path) -> str:
    """The architecture; "" if the file cannot be read, which loading then reports."""
    try:
        config = read_document(folder / "config.json")
    except FileError:
        return ""
    return str(config.get("model_type", "")) if isinstance(config, dict) else ""


MODEL = ModelPart(
    summary="transformers in this process, constrained by grammars; extra local, with pictures vlm",
    make=_make,
    source="FOLDER",
    source_is_path=True,
    takes_pictures=True,
    holds_grammar=True,
    options=(
        TEMPERATURE,
        Option("device", "cpu", "torch device for the model"),
        Option("adapter", "", "folder of a LoRA adapter for the model", is_path=True),
    ),
)
