"""The record of a memory updater: what it needs, its options, how it is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from planner.memory.operations import CoordinateFrame
from planner.models.caller import OnCall, ignore_call
from planner.parts.catalog import Catalog
from planner.parts.option import Option, OptionValue, read_options
from planner.world.errors import PlannerError

if TYPE_CHECKING:
    from planner.memory.sightings import Visibility
    from planner.memory.updater import MemoryUpdater
    from planner.world.house import House
    from planner.world.state import WorldState


INTERFACE = 1
ClassOf: TypeAlias = "Callable[[int], str | None]"
Truth: TypeAlias = "Callable[[], WorldState | None]"
MakeUpdater: TypeAlias = "Callable[[House], MemoryUpdater]"


@dataclass(frozen=True, slots=True)
class UpdaterModel:
    """The model that an updater applies to images.

    Attributes:
        model: a folder, or with `url` the name on the server; for `vlm` also any chat model that
            accepts images (`ModelChoice`). Empty = the updater's default.
        url: base URL of an OpenAI-compatible server that accepts images, `.../v1`.
        second: folder of `vlm`'s LoRA adapter, or of the SigLIP model beside OWLv2; may be empty.
        coordinates: coordinate convention of `vlm`'s replies.
        device: torch device.
        timeout_s: of one reply of `vlm`.
    """

    model: str = ""
    url: str = ""
    second: str = ""
    coordinates: CoordinateFrame = CoordinateFrame.PIXEL_384
    device: str = "cpu"
    timeout_s: float = 30.0

    @staticmethod
    def of(given: Mapping[str, OptionValue]) -> UpdaterModel:
        """The model that values of `MODEL_OPTIONS` choose.

        Raises:
            OptionError: for a value that is not allowed.
        """
        values = tuple(read_options(MODEL_OPTIONS, given).values())
        model, url, second, frame, device = map(str, values[:-1])
        return UpdaterModel(model, url, second, CoordinateFrame(frame), device, float(values[-1]))


# What a detector of persons that is not ours publishes, for the memory's node.
DETECTIONS = "vision_msgs/msg/Detection3DArray"
PERSONS = Option("persons", "", f"topic of {DETECTIONS}, whose persons are remembered; empty: none")

# Settings of the memory's node, also where it is run over a bag; in the order of `UpdaterModel`.
MODEL_OPTIONS = (
    Option("model", "", "folder, or the model's name on the server"),
    Option("model_url", "", "base URL of a server that accepts images, .../v1"),
    Option("model_second", "", "folder: vlm's LoRA adapter, SigLIP beside OWLv2"),
    Option(
        "model_coordinates",
        CoordinateFrame.PIXEL_384.value,
        "coordinate convention of vlm's replies",
        choices=tuple(frame.value for frame in CoordinateFrame),
    ),
    Option("model_device", UpdaterModel().device, "torch device"),
    Option(
        "model_timeout", UpdaterModel().timeout_s, "timeout of one vlm reply, seconds", 0.1, 600.0
    ),
)


@dataclass(frozen=True, slots=True)
class UpdaterRequest:
    """The arguments for making an updater, once for all houses.

    Attributes:
        name: of the part.
        truth_source: the true world state at the time of the image; see `truth`.
        visibility: what counts as seen, for `privileged`; None = EPM's thresholds.
        class_of: the class of an instance id, for updaters that need the truth.
        options: the values of all options that the part declares.
        on_call: called with each call of a chat model.
    """

    name: str
    model: UpdaterModel = field(default_factory=UpdaterModel)
    truth_source: Truth | None = None
    visibility: Visibility | None = None
    class_of: ClassOf | None = None
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    on_call: OnCall = ignore_call

    @property
    def truth(self) -> Truth:
        """The true world state at the time of the image, for updaters that need it.

        Raises:
            PlannerError: where there is no simulator.
        """
        if self.truth_source is None:
            raise PlannerError(f"the memory {self.name} needs the ground truth of a simulator")
        return self.truth_source

    @property
    def folder(self) -> Path:
        """The model's folder.

        Raises:
            PlannerError: where none is named.
        """
        if not self.model.model:
            server = ", or a server" if UPDATERS.get(self.name).takes_server else ""
            raise PlannerError(f"the memory {self.name} needs a model: its folder{server}")
        return Path(self.model.model)

    @property
    def second_folder(self) -> Path | None:
        """The second model's folder, None where none is named."""
        return Path(self.model.second) if self.model.second else None


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdaterPart:
    """The record of a memory updater.

    Attributes:
        summary: one line for the help.
        make: loads the model once and returns a factory of updaters, one for each house; raises
            `PlannerError`.
        needs_model: whether a model must be given.
        takes_server: whether the model may be on a server.
        needs_truth: whether it reads the simulator's instance ids and states.
        truth_instead_of_model: whether it reads them where no model is given.
        truth_option: the option of those that, where it is on, makes it read them beside pictures;
            "" = none does.
        true_names: whether its entities have the simulator's names.
        needs_pictures: whether it reads images; otherwise it also works from the sightings of a
            world without images.
        in_thread: whether updates are slow and need a thread of their own.
        options: beyond what all updaters have.
        interface: the version of this record that it was written for.
    """

    summary: str
    make: Callable[[UpdaterRequest], MakeUpdater]
    needs_model: bool = False
    takes_server: bool = False
    needs_truth: bool = False
    truth_instead_of_model: bool = False
    truth_option: str = ""
    true_names: bool = False
    needs_pictures: bool = True
    in_thread: bool = True
    options: tuple[Option, ...] = ()
    interface: int = INTERFACE

    def reads_truth(self, model: str, options: Mapping[str, OptionValue]) -> bool:
        """Whether it reads the simulator's ids and states, with this model ("" = none)."""
        alone = self.needs_truth or (self.truth_instead_of_model and not model)
        return alone or self.adds_truth(options)

    def reads_colours(self, model: str, options: Mapping[str, OptionValue]) -> bool:
        """Whether it reads the colours of pictures, and not only a simulator's ids."""
        return self.adds_truth(options) or not self.reads_truth(model, options)

    def adds_truth(self, options: Mapping[str, OptionValue]) -> bool:
        """Whether it reads them beside the colours of pictures."""
        return options.get(self.truth_option) is True


UPDATERS: Catalog[UpdaterPart] = Catalog(
    "memory updater", "planner.memory.updaters", "UPDATERS", f"{__name__}:UpdaterPart", INTERFACE
)


def load_updater(request: UpdaterRequest) -> MakeUpdater:
    """Loads the model once and returns a factory of updaters.

    Raises:
        PlannerError: where there is no such updater, its model is missing or unfit, or an extra
            is not installed.
        FileError: likewise, for the shipped format.
    """
    part = UPDATERS.get(request.name)
    if request.model.url and not part.takes_server:
        raise PlannerError(f"the memory {request.name} takes no server; name a folder")
    if part.needs_model and not request.model.url:
        # Says which folder is missing.
        _ = request.folder
    make = part.make(request)
    if not part.reads_colours(request.model.model, request.options):
        return make

    # Here, as it needs NumPy, which the names of parts do not.
    from planner.memory.updater import ClearSight

    return lambda layout: ClearSight(make(layout))


# The options of memories that see with depth and a detector.

DEPTH_MODEL, TRUE_SEGMENTATION = "depth_model", "true_segmentation"
OF_ERRORS = "errors:"
PERCEPTION_OPTIONS = (
    Option(
        DEPTH_MODEL,
        "",
        "folder of a model that estimates depth from colours, or errors:SHARE, which adds smooth "
        "errors of this share to the camera's; empty = the camera's, in a simulator the truth",
    ),
    Option(TRUE_SEGMENTATION, False, "whether things are those of a simulator's instance ids"),
)
