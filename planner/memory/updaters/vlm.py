"""Memory updater `vlm`: EPM's, a vision-language model that writes the edits (EPM-2.3)."""

from planner.memory.part import MakeUpdater, UpdaterPart, UpdaterRequest
from planner.world.errors import PlannerError

# What a folder meant before models had parts.
_OF_A_FOLDER = "local"


def _make(request: UpdaterRequest) -> MakeUpdater:
    from planner.memory.vlm import VlmUpdater
    from planner.models.blocking import BlockingLoop
    from planner.models.model_choice import SERVER, ModelChoice, open_model, part_and_source

    asked = request.model
    if not asked.model:
        raise PlannerError("the memory vlm needs the server's name for its model")
    named = asked.model
    if not asked.url and part_and_source(named)[0] == SERVER:
        named = f"{_OF_A_FOLDER}:{named}"
    part = ModelChoice(named, asked.url).part
    if not part.takes_pictures:
        raise PlannerError(f"the model {named} does not accept images")
    wanted = {"device": asked.device, "adapter": asked.second}
    options = {o.name: wanted[o.name] for o in part.options if o.name in wanted}
    model, loop = open_model(ModelChoice(named, asked.url, options)), BlockingLoop()
    return lambda _: VlmUpdater(
        model,
        asked.coordinates,
        deadline_s=asked.timeout_s,
        on_call=request.on_call,
        loop=loop,
    )


UPDATER = UpdaterPart(
    summary="EPM's: a vision-language model, on a server or in this process, writes the edits",
    make=_make,
    needs_model=True,
    takes_server=True,
)
