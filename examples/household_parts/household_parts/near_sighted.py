"""Memory updater `near-sighted`: as `privileged`, but only of objects near the camera."""

from collections.abc import Sequence

from planner.memory.part import MakeUpdater, UpdaterPart, UpdaterRequest
from planner.memory.updater import MemoryUpdater, Operation
from planner.parts.option import Option
from planner.world.belief import Entity
from planner.world.observation import Observation


class NearSighted:
    """Drops what another updater saw too far away."""

    def __init__(self, other: MemoryUpdater, max_distance_m: float) -> None:
        """Wraps an updater; keeps sightings up to this distance."""
        self._other = other
        self._max_distance_m = max_distance_m

    @property
    def name(self) -> str:
        """The updater's name."""
        return "near-sighted"

    def update(
        self, observation: Observation, entities: Sequence[Entity], last_action: str
    ) -> list[Operation]:
        """The operations for an observation."""
        found = self._other.update(observation, entities, last_action)
        return [
            operation
            for operation in found
            if operation.distance_m is None or operation.distance_m <= self._max_distance_m
        ]


def _make(request: UpdaterRequest) -> MakeUpdater:
    from planner.memory.privileged import PrivilegedUpdater

    truth, max_distance_m = request.truth, float(request.options["max_distance_m"])
    return lambda _layout: NearSighted(PrivilegedUpdater(truth), max_distance_m)


UPDATER = UpdaterPart(
    summary="knows what is near the camera",
    make=_make,
    needs_truth=True,
    true_names=True,
    needs_pictures=False,
    in_thread=False,
    options=(
        Option("max_distance_m", 2.5, "greatest distance, metres", min_value=0.1, max_value=10.0),
    ),
)
