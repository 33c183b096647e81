"""The one list of all kinds of parts, each with its catalog.

The record classes belong to the packages that use them and are only named here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.parts.catalog import Catalog

if TYPE_CHECKING:
    from planner.bench.suite import SuitePart
    from planner.evaluation.metrics.metric import MetricRecord
    from planner.memory.part import UpdaterPart
    from planner.models.part import ModelPart
    from planner.planning.part import PlannerPart
    from planner.skills.part import SkillPart
    from sim_bridge.part import BackendPart

PLANNERS: Catalog[PlannerPart] = Catalog(
    "planner", "planner.planning.planners", "PLANNER", "planner.planning.part:PlannerPart", 1
)
BACKENDS: Catalog[BackendPart] = Catalog(
    "backend", "sim_bridge.backends", "BACKEND", "sim_bridge.part:BackendPart", 1
)
UPDATERS: Catalog[UpdaterPart] = Catalog(
    "memory updater",
    "planner.memory.updaters",
    "UPDATER",
    "planner.memory.part:UpdaterPart",
    1,
    name_of=lambda module: module.replace("_", "-"),
)
METRICS: Catalog[MetricRecord] = Catalog(
    "metric",
    "planner.evaluation.metrics",
    "METRICS",
    "planner.evaluation.metrics.metric:MetricRecord",
    1,
    several=True,
)
SUITES: Catalog[SuitePart] = Catalog(
    "suite", "planner.bench.suites", "SUITE", "planner.bench.suite:SuitePart", 1
)
MODELS: Catalog[ModelPart] = Catalog(
    "model", "planner.models.models", "MODEL", "planner.models.part:ModelPart", 1
)
SKILLS: Catalog[SkillPart] = Catalog(
    "skill",
    "planner.skills.skills",
    "SKILL",
    "planner.skills.part:SkillPart",
    1,
    name_of=lambda module: "".join(word.capitalize() for word in module.split("_")),
    declared="planner.skills.changing:state_skills",
)
ALL = (PLANNERS, UPDATERS, BACKENDS, SKILLS, MODELS, METRICS, SUITES)
