"""Memory updater `voxels-plain`: a voxel map of image features."""

from planner.memory.part import MakeUpdater, UpdaterPart, UpdaterRequest


def _make(request: UpdaterRequest) -> MakeUpdater:
    from planner.memory.voxel import VoxelForm, make_voxels

    return make_voxels(request, VoxelForm.PLAIN)


UPDATER = UpdaterPart(
    summary="baseline: a voxel map of image features",
    make=_make,
    truth_instead_of_model=True,
)
