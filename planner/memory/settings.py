"""What the memory node is told of the model that it looks with."""

from __future__ import annotations

from typing import Any

from planner.memory.operations import CoordinateFrame
from planner.memory.part import UpdaterModel
from planner.ros import parameters


def updater_model(node: Any) -> UpdaterModel:
    """Declares and reads the parameters `model...`.

    Raises:
        PlannerError: for a wrong one.
    """
    return UpdaterModel(
        model=parameters.text(node, "model", "", "folder, or the model's name on the server"),
        url=parameters.text(
            node, "model_url", "", "base URL of a server that accepts images, .../v1"
        ),
        second=parameters.text(
            node, "model_second", "", "folder: vlm's LoRA adapter, SigLIP beside OWLv2"
        ),
        coordinates=CoordinateFrame(
            parameters.text(
                node,
                "model_coordinates",
                CoordinateFrame.PIXEL_384.value,
                "coordinate convention of vlm's replies",
                choices=[*CoordinateFrame],
            )
        ),
        device=parameters.text(node, "model_device", "cpu", "torch device"),
        timeout_s=parameters.number(
            node,
            "model_timeout",
            30.0,
            "timeout of one vlm reply, seconds",
            min_value=0.1,
            max_value=600.0,
        ),
    )
