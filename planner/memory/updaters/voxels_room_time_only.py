"""Memory updater `voxels-room-time-only`: voxels-room, newest observation first."""

from planner.memory.part import MakeUpdater, UpdaterPart, UpdaterRequest


def _make(request: UpdaterRequest) -> MakeUpdater:
    from planner.memory.voxel import VoxelForm, make_voxels

    return make_voxels(request, VoxelForm.ROOM_TIME_ONLY)


UPDATER = UpdaterPart(
    summary="baseline: voxels-room, newest observation first",
    make=_make,
    truth_instead_of_model=True,
)
