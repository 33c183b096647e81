"""What the models of papers' planners reply where all planners are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import llamar_scripts

from papers.helper.program_memory import ProgramMemory
from papers.helper.program_store import ProgramRecord, RecordKind
from papers.helper.programs.program import default_vocabulary
from planner.planning.part import PlannerChoice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from test_planners_alike import Stack

# The same as moves of one thing each, from which a program is made.
MOVED = {
    "cup": (("cup", "couch"),),
    "cup_and_apple": (("cup", "couch"), ("apple", "couch")),
    "cabinet": (("apple", "cabinet"),),
    "graph": (("apple", "fridge"),),
}


def of(stack: Stack, planner: str) -> list[str]:
    """The replies; none for a planner that replies as the core's do."""
    if planner == "helper":
        return [program_reply(MOVED[stack.task])]
    if planner == "open_loop":
        steps = (f"- Pick[{thing}]\n- Place[{place}]" for thing, place in MOVED[stack.task])
        return ["\n".join((*steps, "- Done[]"))]
    if planner == "llamar_coela":
        return chosen_replies(stack, planner)
    if planner.startswith("llamar"):
        return llamar_scripts.replies(planner, llamar_scripts.JOINT[stack.task])
    return []


def options_of(stack: Stack, planner: str) -> dict[str, str]:
    """What a planner has to know before."""
    return {"program_memory": taught(stack)} if planner == "helper_retrieval" else {}


def ends_early(stack: Stack, planner: str) -> bool:
    """Whether a planner says that it is done with something left to do."""
    chosen = planner == "llamar_coela" and stack.task in llamar_scripts.CHOSEN
    # It opens nothing.
    return chosen or (planner == "open_loop" and stack.task in ("cabinet", "graph"))


def chosen_replies(stack: Stack, planner: str) -> list[str]:
    """What a model replies that chooses from the lists that it is given in this process."""
    model = llamar_scripts.Choosing(stack.task)
    with stack.prepared(PlannerChoice(planner), model) as run:
        run.run()
    return model.texts


def program_reply(moves: Sequence[tuple[str, str]]) -> str:
    """One of HELPER's programs."""
    named = dict.fromkeys(name for move in moves for name in move)
    category = default_vocabulary().name_of
    lines = [f'{name} = InteractionObject("{category(name)}")' for name in named]
    for thing, place in moves:
        lines += [f"{thing}.go_to()", f"{thing}.pickup()", f"{place}.go_to()"]
        lines.append(f"{thing}.place({place})")
    return "\n".join(lines)


def taught(stack: Stack) -> str:
    """A program memory that knows what is asked for."""
    path = stack.folder / "programs.sqlite"
    with ProgramMemory.open(path) as memory:
        said, program = stack.episode.instruction, program_reply(MOVED[stack.task])
        memory.add(ProgramRecord(0, RecordKind.PLAN, said, program, confirmed=True))
    return str(path)
