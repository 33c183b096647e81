"""EPM's updater: a vision-language model reads picture, memory and last action, and says edits.

What it says is held to the grammar of the moment while it decodes, where the model can, and read
by the forgiving parser in any case (EPM-2.2 and EPM-2.3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from planner.memory.epm_prompt import model_image, update_prompt, view_points
from planner.memory.operation_grammar import OperationsReply
from planner.memory.operations import CoordinateFrame, to_pixel
from planner.memory.updater import Operation
from planner.models.blocking import BlockingLoop
from planner.models.caller import Caller
from planner.models.chat import ChatModel, Message, Speaker
from planner.models.picture import Picture
from planner.models.role import Role
from planner.models.trace import OnCall, ignore_call
from planner.world.entity import Entity
from planner.world.errors import PlannerError
from planner.world.observation import Observation

CAMERA: Final = "hand"


class VlmUpdater:
    """Asks a model at each look; see `planner.memory.updater.MemoryUpdater`.

    It is slow: nodes let it look in a thread of its own (`planner.memory.background`).
    """

    name = "vlm"

    def __init__(
        self,
        model: ChatModel,
        coordinates: CoordinateFrame = CoordinateFrame.PIXEL_384,
        *,
        deadline_s: float = 30.0,
        on_call: OnCall = ignore_call,
        loop: BlockingLoop | None = None,
    ) -> None:
        """Takes the model, what the numbers of its operations are, and how long it may take.

        Args:
            model: takes pictures.
            coordinates: of its operations.
            deadline_s: wall seconds, after which a model in this process is cut off where it is.
            on_call: hears each call of the model, in another thread.
            loop: the one in which the model is asked; None = one of its own.
        """
        self._caller = Caller(
            self.name,
            model,
            Role.MEMORY,
            deadline_s=deadline_s,
            accepts_partial=True,
            on_call=on_call,
        )
        self._loop = loop or BlockingLoop()
        self._coordinates = coordinates
        self._looks = 0
        self.unreadable = 0

    @property
    def counts(self) -> Mapping[str, int]:
        """Lines of answers that were no operation."""
        return {"lines unreadable": self.unreadable}

    def update(
        self, observation: Observation, entities: Sequence[Entity], last_action: str
    ) -> list[Operation]:
        """The edits that the model says; a line that is none is counted in `unreadable`.

        Raises:
            PlannerError: where there is no answer, or nothing whole in it.
        """
        frame = observation.cameras.get(CAMERA)
        if frame is None:
            return []
        self._looks += 1
        prompt = update_prompt(view_points(frame), entities, last_action)
        picture = Picture.of(model_image(frame))
        asking = self._caller.ask(
            (Message(Speaker.USER, prompt, (picture,)),),
            OperationsReply(tuple(entities), self._coordinates),
            cycle=self._looks,
        )
        reply = self._loop.run(asking)
        if reply.value is None:
            raise PlannerError(f"the memory's model {self._caller.model.name} {reply.error}")
        said = reply.value
        self.unreadable += len(said.errors)
        height, width = frame.depth_m.shape
        return [
            operation
            if operation.pixel is None
            else replace(
                operation, pixel=to_pixel(operation.pixel, self._coordinates, width, height)
            )
            for operation in said.operations
        ]
