"""Planners of the core: experts that know the goal, of words, of a model, and trained ones.

Those of a paper are entry points (pyproject.toml). Implementations are imported only when a planner
is made, since commands that just list planners load this module.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from planner.models.replies.turn import Naming
from planner.parts.option import Option
from planner.planning.part import Asks, Needs, PlannerPart, PlannerRequest, Reads
from planner.planning.planner import Planner
from planner.planning.planner_model import MemorySource
from planner.world.errors import PlannerError


def _make_expert(request: PlannerRequest) -> Planner:
    from planner.planning.expert.expert import Expert

    return Expert(request.task)


def _make_heuristic_expert(request: PlannerRequest) -> Planner:
    from planner.planning.expert.heuristic import HeuristicExpert

    return HeuristicExpert(request.task, request.axes)


def _make_learned(request: PlannerRequest) -> Planner:
    from planner.planning.learned.chooser import cached_planner, shipped_planner
    from planner.planning.learned.learned import Learned

    given = request.text("learned_model")
    model = cached_planner(Path(given) if given else shipped_planner())
    return Learned(request.task, model, temperature=request.number("learned_temperature"))


def _make_react(request: PlannerRequest) -> Planner:
    from planner.models.gguf import SMOLLM2
    from planner.planning.dialogues import make_react
    from planner.planning.numbered_dialogue import Wording

    usual = Wording.SHORT if request.model.name.startswith(SMOLLM2) else Wording.PAPER
    wording = Wording(request.text("wording") or usual)
    if wording is Wording.SHORT and request.flag("whole_list"):
        raise PlannerError("the planner react has no short wording with whole_list")
    serves = request.text("offers") == "useful"
    if wording is Wording.PAPER and not serves:
        raise PlannerError("the planner react offers what is possible in the short wording alone")
    axes = replace(request.axes, memory_source=MemorySource.DELTAS)
    return make_react(
        request.task,
        request.model,
        request.dialogue,
        request.on_call,
        axes,
        whole_list=request.flag("whole_list"),
        wording=wording,
        serves=serves,
    )


def _make_words(request: PlannerRequest) -> Planner:
    from planner.models.caller import Caller
    from planner.models.chat import Role
    from planner.planning.knowledge import read_knowledge
    from planner.planning.words_planner import Words

    model, dialogue = request.language_model, request.dialogue
    path = request.text("knowledge")
    knowledge = read_knowledge(Path(path)) if path else None
    if model is None:
        return Words(request.task, knowledge=knowledge)
    caller = Caller(
        request.name,
        model,
        Role.PLANNER,
        seed=request.task.seed,
        deadline_s=dialogue.deadline_s,
        constrained=dialogue.constrained,
        on_call=request.on_call,
    )
    return Words(request.task, caller, knowledge)


PLANNERS: Mapping[str, PlannerPart] = {
    "expert": PlannerPart(
        summary="reads the episode's structured goal; no model",
        make=_make_expert,
        needs=Needs(goal=True),
        for_text="words",
    ),
    "heuristic_expert": PlannerPart(
        summary="a privileged baseline: plans everything before the first step; no model",
        make=_make_heuristic_expert,
        needs=Needs(goal=True, full_memory=True),
    ),
    "learned": PlannerPart(
        summary="a small trained network that reads the words and the memory's changes; no server",
        make=_make_learned,
        reads=Reads(changes=True, naming=Naming.NUMBERS),
        options=(
            Option(
                "learned_model",
                "",
                "file of a trained network; empty = the shipped one",
                is_path=True,
            ),
            Option(
                "learned_temperature",
                0.0,
                "of drawing calls by their rank; 0 = always the first",
                min_value=0.0,
                max_value=100.0,
            ),
        ),
    ),
    "react": PlannerPart(
        summary="a language model that is told what changes in the memory",
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
            Option(
                "wording",
                "",
                "of the dialogue: paper, or short for small models; empty = short for smollm2",
                choices=("", "paper", "short"),
            ),
            Option(
                "offers",
                "useful",
                "in the short wording: only calls that serve the task, or all that can succeed",
                choices=("useful", "possible"),
            ),
        ),
    ),
    "words": PlannerPart(
        summary="reads plain English, asks what is unclear, needs no structured goal",
        make=_make_words,
        asks=Asks(model=True, person=True),
        options=(
            Option(
                "knowledge",
                "",
                "file of the robot's team and of answers to questions; empty = the shipped one",
                is_path=True,
            ),
        ),
    ),
}
