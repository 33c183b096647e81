"""EPM's planner, and the open-loop planner that DynaMem's memory is shown with."""

from dataclasses import replace

from planner.models.replies.turn import Naming
from planner.parts.option import Option
from planner.planning.part import Asks, Needs, PlannerPart, PlannerRequest, Reads
from planner.planning.planner import Planner
from planner.planning.planner_model import MemorySource


def _make_react(request: PlannerRequest) -> Planner:
    from planner.planning.dialogues import make_react

    axes = replace(request.axes, memory_source=MemorySource.DELTAS)
    return make_react(
        request.task,
        request.model,
        request.dialogue,
        request.on_call,
        axes,
        whole_list=request.flag("whole_list"),
    )


def _make_open_loop(request: PlannerRequest) -> Planner:
    from planner.models.caller import Caller
    from planner.models.chat import Role
    from planner.planning.open_loop import OpenLoop

    dialogue = request.dialogue
    caller = Caller(
        request.name,
        request.model,
        Role.PLANNER,
        seed=request.task.seed,
        deadline_s=dialogue.deadline_s,
        constrained=dialogue.constrained,
        parameters=request.axes.as_parameters(),
        on_call=request.on_call,
    )
    return OpenLoop(request.task, caller)


REACT = PlannerPart(
    summary="EPM's planner: a language model that is told what changes in the memory",
    make=_make_react,
    needs=Needs(model=True),
    reads=Reads(changes=True, naming=Naming.NUMBERS),
    asks=Asks(tells_replies=True, bare_replies=True),
    options=(
        Option(
            "whole_list",
            False,
            "whether each turn has all entities instead of what has changed",
        ),
    ),
)

OPEN_LOOP = PlannerPart(
    summary="DynaMem's in EPM: a model plans picks and places once, without feedback",
    make=_make_open_loop,
    needs=Needs(model=True),
    asks=Asks(tells_replies=True),
)
