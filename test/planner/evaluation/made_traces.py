"""Traces by hand: what matters to a metric, and the rest as harmless as can be."""

from __future__ import annotations

import pytest

from planner.evaluation.predicates import Variant
from planner.evaluation.progress import Mode
from planner.evaluation.task import Predicate
from planner.evaluation.trace import (
    CallLine,
    EndLine,
    EpisodeLine,
    EpisodeTrace,
    ProgressLine,
    Reference,
    TraceAgent,
    TracedProposition,
)
from planner.world.vocabulary import AgentKind


def asked(name: str, table: str = "table_0") -> TracedProposition:
    return TracedProposition(f"{name} on top of {table}", Predicate.IS_ON_TOP, ((name,), (table,)))


def call(text: str, ended: int = 10, agent: str = "agent_0", started: int = 0, code: int = 0):
    return CallLine(agent, text, started, ended, code)


def trace(
    satisfied=(True,),
    *,
    first_steps=None,
    propositions=None,
    progress=None,
    calls=(),
    agents=(("agent_0", AgentKind.ROBOT), ("agent_1", AgentKind.HUMAN)),
    sim_steps=1000,
    reference=None,
    episode_id="e",
    seed=0,
    **more,
) -> EpisodeTrace:
    count = len(satisfied)
    share = sum(satisfied) / count
    start = ProgressLine(0, 0.0, (False,) * count)
    end = ProgressLine(sim_steps, share, tuple(satisfied))
    return EpisodeTrace(
        EpisodeLine(
            episode_id=episode_id,
            house="lab",
            agents=tuple(TraceAgent(uid, kind) for uid, kind in agents),
            propositions=propositions or tuple(asked(f"cup_{i}") for i in range(count)),
            mode=Mode.STRICT,
            variant=Variant.BOXES,
            seed=seed,
            reference=reference or Reference(),
        ),
        EndLine(
            sim_steps=sim_steps,
            percent_complete=share,
            success=all(satisfied),
            satisfied=tuple(satisfied),
            first_steps=first_steps or tuple(sim_steps if s else None for s in satisfied),
        ),
        calls=tuple(calls),
        progress=(start, end) if progress is None else progress,
        **more,
    )


@pytest.fixture
def make_trace():
    return trace


@pytest.fixture
def make_call():
    return call
