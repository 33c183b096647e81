"""Rows as a run would leave them, made up."""

from __future__ import annotations

from collections.abc import Mapping

from planner.app.run import End
from planner.bench.runs.rows import Row, RowAxes, RowCost, RowError, RowVerdict
from planner.evaluation.progress import Mode
from planner.planning.planner_model import Control, MemorySource, Observability, Privilege
from planner.skills.kind import SkillKind


def made_row(
    episode: str,
    metrics: Mapping[str, float] | None = None,
    *,
    seed: int = 1,
    planner: str = "partnr_react",
    control: Control = Control.DECENTRALIZED,
    task_types: tuple[str, ...] = ("constraint_free",),
    cost: RowCost | None = None,
    error: RowError | None = None,
    mode: Mode = Mode.STRICT,
) -> Row:
    found = dict(metrics or {"success": 1.0, "sim_steps": 100.0})
    verdict = RowVerdict(
        success=found.get("success", 0.0) == 1.0,
        percent_complete=found.get("percent_complete", found.get("success", 0.0)),
        satisfied=(True,),
        sim_steps=int(found.get("sim_steps", 100)),
        end=End.DONE,
        reason="done",
        decisions=3,
        skill_calls=3,
        failed_skills=0,
    )
    return Row(
        episode_id=episode,
        seed=seed,
        house="train_0",
        task_types=task_types,
        instruction="Bring the cup.",
        planner=planner,
        model="tiny",
        agents=("agent_0", "agent_1"),
        memory="privileged",
        axes=RowAxes(
            control=control,
            observability=Observability.PARTIAL,
            skills=SkillKind.ORACLE,
            privilege=Privilege.PERCEPTION,
            memory_source=MemorySource.SUMMARY,
        ),
        mode=mode,
        verdict=None if error else verdict,
        error=error,
        metrics={} if error else found,
        cost=cost or RowCost(),
    )
