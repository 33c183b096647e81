"""Memory updater `privileged`: knows what it sees, by the simulator's ids and states."""

from planner.memory.part import MakeUpdater, UpdaterPart, UpdaterRequest


def _make(request: UpdaterRequest) -> MakeUpdater:
    from planner.memory.privileged import PrivilegedUpdater
    from planner.memory.sightings import GT_VISIBILITY

    truth, visibility = request.truth, request.visibility or GT_VISIBILITY
    return lambda _: PrivilegedUpdater(truth, visibility)


UPDATER = UpdaterPart(
    summary="ground truth of what the camera sees, from the simulator",
    make=_make,
    needs_truth=True,
    true_names=True,
    needs_pictures=False,
    in_thread=False,
)
