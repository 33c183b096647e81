"""Settings of simulated worlds: durations, noise, failures (config/embedded.yaml), sensors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AliasChoices, Field, field_validator

from planner.world.errors import PlannerError, did_you_mean
from planner.world.files import FileModel, read_model
from planner.world.share import config_dir

Seconds = Annotated[float, Field(gt=0, le=600)]
Probability = Annotated[float, Field(ge=0, le=1)]
Deviation = Annotated[float, Field(ge=0, le=10)]


class Durations(FileModel):
    """Simulated seconds of each action; walking and turning follow the body's speeds.

    This is the cost table of PARTNR-D50 and is published with results. Changes of
    states take the times of config/catalogue/states.yaml.
    """

    pick: Seconds = 2.0
    place: Seconds = 2.0
    open: Seconds = 3.0
    close: Seconds = 3.0
    talk: Seconds = 2.0
    look_dwell: Seconds = 0.25
    # Files written before this name existed say `patience`.
    blocked_timeout: Annotated[
        Seconds, Field(validation_alias=AliasChoices("blocked_timeout", "patience"))
    ] = 20.0
    default_timeout: Seconds = 120.0


class Noise(FileModel):
    """Imperfections, all off by default; each has its own seeded random stream.

    `position_m` and `heading_rad` are standard deviations of the localised base, `odometry_per_m`
    of the odometry's drift per metre walked.
    """

    position_m: Deviation = 0.0
    heading_rad: Deviation = 0.0
    odometry_per_m: Deviation = 0.0
    depth_m: Deviation = 0.0
    failed_grasps: Probability = 0.0
    failed_places: Probability = 0.0
    dropped_frames: Probability = 0.0


# Errors of sensors: config/sensors/NAME.yaml, or a file of the user's.

MAX_STRENGTH = 10.0
# A camera that is turned by more is mounted otherwise, and one by 180 degrees mirrored.
MAX_CALIBRATION_DEG = 10.0
Strength = Annotated[float, Field(ge=0, le=MAX_STRENGTH)]
Metres = Annotated[float, Field(ge=0, le=100)]


class DepthErrors(FileModel):
    """Errors of measured depth; each is off by default.

    Attributes:
        strength: factor of all of them but the range; 0 = none at all.
        noise_m: standard deviation at any distance, independent in each pixel.
        noise_per_m2: added to it for each square metre of (distance - noise_from_m) squared.
        noise_from_m: where it begins to grow.
        lateral_px: standard deviation of the place in the picture that a pixel measures.
        disparity_step: by which the inverse of depth is rounded, 1/m, as by matching of patterns.
        edge_holes: share of patches without a measurement within `edge_px` of a step of depth.
        edge_px: pixels on each side of such a step.
        grazing_deg: nothing is measured of surfaces turned farther away than this; 90 = of all.
        dark_holes: share of patches of black surfaces without a measurement.
        shiny_holes: likewise of glass and metal. Costs a second pass of the renderer.
        min_m: nothing nearer is measured.
        max_m: nothing farther; 0 = as far as the camera sees.
    """

    strength: Strength = 1.0
    noise_m: Metres = 0.0
    noise_per_m2: Metres = 0.0
    noise_from_m: Metres = 0.0
    lateral_px: Annotated[float, Field(ge=0, le=10)] = 0.0
    disparity_step: Annotated[float, Field(ge=0, le=1)] = 0.0
    edge_holes: Probability = 0.0
    edge_px: Annotated[int, Field(ge=1, le=20)] = 2
    grazing_deg: Annotated[float, Field(ge=10, le=90)] = 90.0
    dark_holes: Probability = 0.0
    shiny_holes: Probability = 0.0
    min_m: Metres = 0.0
    max_m: Metres = 0.0


class ColourErrors(FileModel):
    """Errors of colours; each is off by default.

    Attributes:
        strength: factor of all of them but `black`; 0 = none at all.
        exposure_stops: standard deviation of a picture's exposure; one stop is a factor of two.
        noise: standard deviation in each pixel and channel, of 255.
        blur_px: standard deviation of the blur.
        jpeg_quality: as compressed and read again, 1 to 100; 0 = not compressed.
        black: share of pictures that are black.
    """

    strength: Strength = 1.0
    exposure_stops: Annotated[float, Field(ge=0, le=4)] = 0.0
    noise: Annotated[float, Field(ge=0, le=128)] = 0.0
    blur_px: Annotated[float, Field(ge=0, le=20)] = 0.0
    jpeg_quality: Annotated[int, Field(ge=0, le=100)] = 0
    black: Probability = 0.0


class CalibrationErrors(FileModel):
    """How far the cameras are turned from where they are believed to be, degrees.

    Around the optical axes: `roll_deg` ahead, `pitch_deg` right, `yaw_deg` down.
    """

    strength: Strength = 1.0
    roll_deg: float = 0.0
    pitch_deg: float = 0.0
    yaw_deg: float = 0.0

    @field_validator("roll_deg", "pitch_deg", "yaw_deg")
    @classmethod
    def _small(cls, value: float) -> float:
        if abs(value) > MAX_CALIBRATION_DEG:
            kind = "a mirrored camera" if abs(value) >= 90 else "another mounting"
            raise ValueError(
                f"{value:g} degrees are {kind}, not an error of calibration: at most "
                f"{MAX_CALIBRATION_DEG:g}"
            )
        return value


class LocalisationErrors(FileModel):
    """Drift of the base in `map`, which grows with the way and jumps back when it is corrected.

    Attributes:
        strength: factor of drift; 0 = none.
        drift_m: distance from the true place just before a correction.
        drift_deg: error of the heading then, to either side.
        corrected_every_m: metres walked from one correction to the next.
    """

    strength: Strength = 1.0
    drift_m: Annotated[float, Field(ge=0, le=2)] = 0.0
    drift_deg: Annotated[float, Field(ge=0, le=45)] = 0.0
    corrected_every_m: Annotated[float, Field(ge=0.1, le=1000)] = 5.0


class SensorModel(FileModel):
    """How the sensors and hands of all bodies err; nothing by default.

    Attributes:
        about: whose they are, and the sources of the numbers.
        picture_late_s: the pictures are by so much older than the poses with their stamp, as far
            as the body walked and turned.
        noise: what it names replaces the world's own (`WorldOptions.noise`), such as grasps that
            slip.
    """

    version: Literal[1] = 1
    about: str = ""
    depth: DepthErrors = DepthErrors()
    colour: ColourErrors = ColourErrors()
    calibration: CalibrationErrors = CalibrationErrors()
    localisation: LocalisationErrors = LocalisationErrors()
    picture_late_s: Annotated[float, Field(ge=0, le=1)] = 0.0
    noise: Noise = Noise()

    @property
    def is_perfect(self) -> bool:
        """Whether nothing errs but what `noise` says."""
        return self.model_copy(update={"about": "", "noise": Noise()}) == SensorModel()

    def scaled(self, factor: float) -> Self:
        """With every error that has a strength, the delay and slips that many times as strong."""
        parts = ("depth", "colour", "calibration", "localisation")
        update: dict[str, object] = {
            name: (part := getattr(self, name)).model_copy(
                update={"strength": part.strength * factor}
            )
            for name in parts
        }
        given = self.noise.model_dump(exclude_unset=True)
        shares = {n: min(v * factor, 1.0) if n in _SHARES else v * factor for n, v in given.items()}
        update |= {"picture_late_s": self.picture_late_s * factor, "noise": Noise(**shares)}
        return self.model_copy(update=update)

    def with_error(self, error: str, factor: float) -> Self:
        """With one of `ERRORS` that many times as strong."""
        name, *fields = ERRORS[error]
        part = getattr(self, name)
        scaled = {field: factor * getattr(part, field) for field in fields}
        scaled = {f: min(v, 1.0) if f.endswith("_holes") else v for f, v in scaled.items()}
        made = part.model_copy(update=scaled) if fields else factor * part
        return self.model_copy(update={name: made})


# Errors by name: a part of the model, and those of its fields that grow with the error.
ERRORS: Mapping[str, tuple[str, ...]] = {
    "noise": ("depth", "noise_m", "noise_per_m2", "lateral_px", "disparity_step"),
    "holes": ("depth", "edge_holes", "dark_holes", "shiny_holes"),
    "blur": ("colour", "blur_px"),
    "calibration": ("calibration", "strength"),
    "late": ("picture_late_s",),
    "drift": ("localisation", "drift_m", "drift_deg"),
}
_SHARES = ("failed_grasps", "failed_places", "dropped_frames")
PERFECT = "perfect"


def sensor_names() -> tuple[str, ...]:
    """The shipped models of sensors by name."""
    return tuple(sorted(path.stem for path in (config_dir() / "sensors").glob("*.yaml")))


def read_sensors(name: str) -> SensorModel:
    """A shipped model by name, or a file; `:S` after it: S times as strong, `:ERROR=S`: one error.

    Raises:
        PlannerError: if there is none.
        FileError: naming the file, the field and the reason.
    """
    named, _, factor = name.rpartition(":")
    error, _, number = factor.rpartition("=")
    strength = _strength(number) if named and (not error or error in ERRORS) else None
    base = name if strength is None else named
    if "/" in base or base.endswith((".yaml", ".json")):
        path = Path(base)
    else:
        path = config_dir() / "sensors" / f"{base}.yaml"
        known = sensor_names()
        if base not in known:
            raise PlannerError(
                f"sensors: there is no model {base!r}{did_you_mean(base, known)}; there are "
                f"{', '.join(known)}, or name a .yaml file"
            )
    model = read_model(path, SensorModel)
    if strength is None or not error:
        return model if strength is None else model.scaled(strength)
    return model.with_error(error, strength)


def _strength(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    if not (math.isfinite(value) and 0 <= value <= MAX_STRENGTH):
        raise PlannerError(f"sensors: a strength is from 0 to {MAX_STRENGTH:g}, got {text}")
    return value


class WorldOptions(FileModel):
    """The settings common to all simulated worlds.

    Attributes:
        sensors: how they err; in a file the name of a model, its file, or its fields.
    """

    version: Literal[1] = 1
    durations: Durations = Durations()
    noise: Noise = Noise()
    sensors: SensorModel = SensorModel()

    @field_validator("sensors", mode="before")
    @classmethod
    def _read_sensors(cls, given: object) -> object:
        return read_sensors(given) if isinstance(given, str) else given

    def with_sensors(self, name: str) -> Self:
        """With the sensors of this name or file; "" = unchanged.

        Raises:
            PlannerError: as `read_sensors`.
        """
        return self.model_copy(update={"sensors": read_sensors(name)}) if name else self

    def noise_with_sensors(self) -> Noise:
        """The noise of the world, where the sensors name none of their own."""
        return self.noise.model_copy(update=self.sensors.noise.model_dump(exclude_unset=True))


class EmbeddedOptions(WorldOptions):
    """All settings of the embedded simulator."""

    renderer: Literal["auto", "egl", "osmesa", "rays", "none"] = "auto"
    # Without instance ids pictures cost less: for memories that need no ground truth.
    instances: bool = True


@lru_cache(maxsize=1)
def default_options() -> EmbeddedOptions:
    """The shipped settings."""
    return read_model(config_dir() / "embedded.yaml", EmbeddedOptions)
