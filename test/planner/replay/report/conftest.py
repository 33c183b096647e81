"""Fixtures: bags made message by message."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from made_bags import START_NS, Recording, new, stamp


@pytest.fixture
def record(tmp_path: Path) -> Callable[..., Recording]:
    """Begins a bag."""

    def begin(name: str = "bag") -> Recording:
        return Recording(tmp_path / name)

    return begin


# What does something where it is taken for markup, a formula, a path or a terminal's order.
HOSTILE = (
    "</script><img src=x onerror=\"document.title='taken'\">",
    "<!--<script>",
    "\x1b[2J\x1b[31mred\x07",
    "=cmd|' /C calc'!A0",
    "@SUM(1)",
    "../../../etc/passwd",
    "\u202eexe.cod",
    "constructor",
    "__proto__",
    "]]>&lt;b&gt;\u2028\u2029\x00",
)


@pytest.fixture
def hostile_bag(record: Callable[..., Recording]) -> Path:
    """A bag in which every text is hostile."""
    bag = record("hostile")
    agent = "agent_0"
    for i in range(60):
        bag.clock(i * 0.5)
        bag.frames(i * 0.5, bag.frame("map", f"{agent}/base_link", i * 0.5, 0.1 * i, 1.0))
    for i, text in enumerate(HOSTILE):
        t_s = 1.0 + 2 * i
        bag.picture(agent, t_s)
        bag.result(agent, text, t_s, code=i % 3, duration_s=1.5, key=text)
        bag.result(text, "Pick[cup_0]", t_s + 0.1, sim_seconds=text)
        bag.say(
            "/planner/trace",
            "planner_msgs/msg/PlannerTrace",
            t_s,
            planner=text,
            model=text,
            agents=[agent, text],
            calls=[text, text],
            prompt=f"{text} prompt {'word ' * 80}{i}",
            reply=f"{text} reply",
            error=text if i % 2 else "",
            latency_s=0.5 + i,
            prompt_tokens=10,
        )
        bag.say(
            "/instruct/status",
            "planner_msgs/msg/InstructStatus",
            t_s,
            instruction=text,
            text=text,
            question=text,
            house=text,
            episode_id=text,
            planner=text,
            state=i,
        )
        bag.say(
            "/rosout",
            "rcl_interfaces/msg/Log",
            t_s,
            stamp=stamp(t_s),
            level=40,
            name=text,
            msg=text,
        )
        status = new("diagnostic_msgs/msg/DiagnosticStatus", level=1, name=text, message=text)
        bag.say("/diagnostics", "diagnostic_msgs/msg/DiagnosticArray", t_s, status=[status])
        proposition = new("planner_msgs/msg/PropositionState", text=text, detail=text)
        bag.say(
            "/evaluation/result",
            "planner_msgs/msg/Evaluation",
            t_s,
            episode_id=text,
            status=2,
            scoring=text,
            explanation=text,
            propositions=[proposition],
        )
        entity = new("planner_msgs/msg/Entity", id=100 + i, name=text, description=text)
        edit = new("planner_msgs/msg/Operation", entity=entity)
        bag.say(
            "/memory/updates",
            "planner_msgs/msg/MemoryUpdate",
            t_s,
            sequence=i + 1,
            source=text,
            operations=[edit],
        )
    bag.writer.attach("parameters.yaml", "application/yaml", _hostile_parameters(), START_NS)
    return bag.close()


def _hostile_parameters() -> bytes:
    named = {text: {"ros__parameters": {text: text}} for text in HOSTILE}
    return yaml.safe_dump(named, allow_unicode=True).encode()
