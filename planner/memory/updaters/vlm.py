"""Memory updater `vlm`: EPM's, a vision-language model that writes the edits (EPM-2.3)."""

from planner.memory.part import MakeUpdater, UpdaterPart, UpdaterRequest
from planner.world.errors import PlannerError


def _make(request: UpdaterRequest) -> MakeUpdater:
    from planner.memory.vlm import Seer, ServerSeer, VlmUpdater

    model = request.model
    seer: Seer
    if model.url:
        if not model.model:
            raise PlannerError("the memory vlm needs the server's name for its model")
        seer = ServerSeer(model.url, model.model, timeout_s=model.timeout_s)
    else:
        from planner.models.in_process_vision import InProcessSeer

        seer = InProcessSeer(
            request.folder,
            device=model.device,
            adapter=request.second_folder,
            timeout_s=model.timeout_s,
        )
    return lambda _: VlmUpdater(seer, model.coordinates)


UPDATER = UpdaterPart(
    summary="EPM's: a vision-language model, on a server or in this process, writes the edits",
    make=_make,
    needs_model=True,
    takes_server=True,
)
