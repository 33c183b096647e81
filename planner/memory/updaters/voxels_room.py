"""Memory updater `voxels-room`: voxels-plain with the room in the query."""

from planner.memory.part import MakeUpdater, UpdaterPart, UpdaterRequest


def _make(request: UpdaterRequest) -> MakeUpdater:
    from planner.memory.voxel import VoxelForm, make_voxels

    return make_voxels(request, VoxelForm.ROOM)


UPDATER = UpdaterPart(
    summary="baseline: voxels-plain with the room in the query",
    make=_make,
    truth_instead_of_model=True,
)
