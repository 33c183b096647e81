"""The files of a scene: its bodies, and which receptacles can be used."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from planner.houses.hssd.files import Lenient
from planner.houses.hssd.transforms import Placed

_MAX_INSTANCES = 5_000


class User(Lenient):
    """What users of the data set add to a scene."""

    scene_filter_file: str | None = None


class SceneFile(Lenient):
    """`*.scene_instance.json`."""

    translation_origin: str | None = None
    stage_instance: Placed
    object_instances: Annotated[tuple[Placed, ...], Field(max_length=_MAX_INSTANCES)] = ()
    articulated_object_instances: Annotated[
        tuple[Placed, ...], Field(max_length=_MAX_INSTANCES)
    ] = ()
    user_defined: User = User()


class ReceptacleFilter(Lenient):
    """`*.rec_filter.json`: substrings of the names of receptacles."""

    manually_filtered: tuple[str, ...] = ()
    access_filtered: tuple[str, ...] = ()
    stability_filtered: tuple[str, ...] = ()
    height_filtered: tuple[str, ...] = ()
    within_set: tuple[str, ...] = ()

    @property
    def excluded(self) -> tuple[str, ...]:
        """Substrings of the names of receptacles that cannot be used."""
        return (
            *self.manually_filtered,
            *self.access_filtered,
            *self.stability_filtered,
            *self.height_filtered,
        )
