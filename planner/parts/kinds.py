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
    "planner", "planner.planning.planners", "PLANNERS", "planner.planning.part:PlannerPart", 1
)
BACKENDS: Catalog[BackendPart] = Catalog(
    "backend", "sim_bridge.backends", "BACKENDS", "sim_bridge.part:BackendPart", 1
)
UPDATERS: Catalog[UpdaterPart] = Catalog(
    "memory updater", "planner.memory.updaters", "UPDATERS", "planner.memory.part:UpdaterPart", 1
)
METRICS: Catalog[MetricRecord] = Catalog(
    "metric",
    "planner.evaluation.metrics",
    "METRICS",
    "planner.evaluation.metrics.metric:MetricRecord",
    1,
    keep_order=True,
)
SUITES: Catalog[SuitePart] = Catalog(
    "suite", "planner.bench.suites", "SUITES", "planner.bench.suite:SuitePart", 1
)
MODELS: Catalog[ModelPart] = Catalog(
    "model", "planner.models.models", "MODELS", "planner.models.part:ModelPart", 1
)
SKILLS: Catalog[SkillPart] = Catalog(
    "skill",
    "planner.skills.skills",
    "SKILLS",
    "planner.skills.part:SkillPart",
    1,
    declared="planner.skills.changing:state_skills",
)
ALL = (PLANNERS, UPDATERS, BACKENDS, SKILLS, MODELS, METRICS, SUITES)
