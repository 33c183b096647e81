"""LLaMAR's planners and suites, and the world of search and rescue."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from papers.llamar.rescue.scenes import scene_names
from papers.llamar.state import (
    COELA_OPTIONS,
    EXACT_OPTIONS,
    LLAMAR_OPTIONS,
    TEAM_OPTIONS,
    reads_goal,
    wants_pictures,
)
from planner.bench.suite import SuitePart, packed
from planner.planning.part import Asks, Needs, PlannerPart, PlannerRequest, Reads
from planner.planning.planner import Planner
from planner.world.files import read_model
from planner.world.primitive import PrimitiveName
from planner.world.share import config_dir
from sim_bridge.backend import Backend, BackendPart


def _make_llamar(request: PlannerRequest) -> Planner:
    from papers.llamar.joint_planner import Asking
    from papers.llamar.llamar import llamar_options, make_llamar, translator_of

    asking, translator = Asking.of(request), translator_of(request)
    return make_llamar(request.task, asking, translator, llamar_options(request))


def _make_acting(style: str, request: PlannerRequest) -> Planner:
    from papers.llamar.actor_role import Style
    from papers.llamar.llamar import acting_planner

    return acting_planner(Style(style), request)


def _make_llamar_coela(request: PlannerRequest) -> Planner:
    from papers.llamar.coela import make_coela
    from papers.llamar.joint_planner import Asking
    from papers.llamar.llamar import actions_of, horizon_of
    from planner.planning.planner_model import Control

    asking = Asking.of(request, Control.DECENTRALIZED)
    return make_coela(request.task, asking, actions_of(request), horizon=horizon_of(request))


def _make_llamar_smart_llm(request: PlannerRequest) -> Planner:
    from papers.llamar.joint_planner import Asking
    from papers.llamar.llamar import actions_of, horizon_of
    from papers.llamar.smart_llm import make_smart_llm

    asking, options = Asking.of(request), actions_of(request)
    return make_smart_llm(request.task, asking, options, horizon=horizon_of(request))


def _make_rescue_rules(request: PlannerRequest) -> Planner:
    from papers.llamar.rescue.rules import RescueRules

    return RescueRules(request.task)


LLAMAR = PlannerPart(
    summary="LLaMAR: Planner, Actor, Corrector and Verifier for a team, in joint steps",
    make=_make_llamar,
    needs=Needs(model=True),
    reads=Reads(pictures=wants_pictures, goal=reads_goal),
    asks=Asks(tells_replies=True),
    options=LLAMAR_OPTIONS,
)

LLAMAR_ACT = PlannerPart(
    summary="LLaMAR's baseline Act: one call a joint step, actions without reasoning",
    make=partial(_make_acting, "act"),
    needs=Needs(model=True),
    reads=Reads(pictures=wants_pictures),
    asks=Asks(tells_replies=True),
    options=TEAM_OPTIONS,
)

LLAMAR_COT = PlannerPart(
    summary="LLaMAR's baseline CoT: one call a joint step, all reasoning before the actions",
    make=partial(_make_acting, "cot"),
    needs=Needs(model=True),
    reads=Reads(pictures=wants_pictures),
    asks=Asks(tells_replies=True),
    options=TEAM_OPTIONS,
)

LLAMAR_REACT = PlannerPart(
    summary="LLaMAR's baseline ReAct: one call a joint step, a thought before the actions",
    make=partial(_make_acting, "react"),
    needs=Needs(model=True),
    reads=Reads(pictures=wants_pictures),
    asks=Asks(tells_replies=True),
    options=TEAM_OPTIONS,
)

LLAMAR_COELA = PlannerPart(
    summary="LLaMAR's baseline CoELA: a model for each agent, messages, choices from a list",
    make=_make_llamar_coela,
    needs=Needs(model=True),
    reads=Reads(pictures=wants_pictures),
    asks=Asks(tells_replies=True, team=True),
    options=COELA_OPTIONS,
)

LLAMAR_SMART_LLM = PlannerPart(
    summary="LLaMAR's baseline SmartLLM: a program of functions and threads, written once",
    make=_make_llamar_smart_llm,
    needs=Needs(model=True),
    reads=Reads(pictures=wants_pictures),
    asks=Asks(tells_replies=True),
    options=EXACT_OPTIONS,
)

RESCUE_RULES = PlannerPart(
    summary="the reference of the rescue world: puts out fires, carries people; no model",
    make=_make_rescue_rules,
    needs=Needs(
        goal=True,
        primitives=frozenset(
            {
                PrimitiveName.SCOUT,
                PrimitiveName.TAKE_SAND,
                PrimitiveName.TAKE_WATER,
                PrimitiveName.USE_SAND,
                PrimitiveName.USE_WATER,
                PrimitiveName.DISCARD_SUPPLIES,
                PrimitiveName.CARRY,
                PrimitiveName.DROP_OFF,
            }
        ),
    ),
)


# LLaMAR's suite, and search and rescue.


def _rescue() -> list[Path]:
    return [config_dir() / "rescue" / "episodes"]


SUITES: Mapping[str, SuitePart] = {
    "llamar": SuitePart(
        summary="tasks of LLaMAR's four types for teams, in single rooms and houses",
        places=partial(packed, "llamar"),
    ),
    "rescue": SuitePart(
        summary="search and rescue, five scenes for two to five agents", places=_rescue
    ),
}


# The record of the backend of the rescue grid.


def _make(settings: Path | None) -> Backend:
    from papers.llamar.rescue.backend import RescueBackend, RescueOptions

    return RescueBackend(None if settings is None else read_model(settings, RescueOptions))


RESCUE = BackendPart(
    summary="search and rescue: fires, supplies and lost persons on a grid, no pictures",
    make=_make,
    simulated=True,
    has_pictures=False,
    own_houses=scene_names,
)
