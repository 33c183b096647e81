"""Messages as entries of the page: the same for a running stack and for a bag.

The messages come from ROS or from a bag, which brings its own types, so a field may be missing or
of another type: a message for which a function raises one of `MALFORMED` is unreadable.
"""

from __future__ import annotations

import math
from typing import Any

from planner.console.table import Json
from planner.world.errors import FileError
from planner.world.files import parse_json
from planner.world.memory_wire import duration_of, stamp_seconds

KINDS = ("room", "furniture", "object", "agent")
SOURCES = ("seen", "told", "inferred")
INSTRUCT_STATES = ("idle", "running", "waiting", "done", "failed", "canceled")
JUDGE_STATES = ("running", "succeeded", "failed")
LEVELS = ("ok", "warning", "error", "stale")
# Raised for other types than expected.
MALFORMED = (AttributeError, TypeError, ValueError, LookupError, ArithmeticError)
# Of texts that a row shows; prompts and replies are sent whole on a click.
MAX_TEXT = 2000
MAX_WHOLE_TEXT = 200_000
_LIST = 200


def text(value: Any, limit: int = MAX_TEXT) -> str:
    """A text of a message, cut with a mark where it is too long for the page."""
    words = str(value)
    return words if len(words) <= limit else f"{words[:limit]}…"


def texts(values: Any) -> list[str]:
    """A list of texts, of at most 200."""
    return [text(value) for value in list(values)[:_LIST]]


def number(value: Any, digits: int = 3) -> float | None:
    """A rounded number; None where it is not finite, which JSON cannot say."""
    found = float(value)
    return round(found, digits) if math.isfinite(found) else None


def heading(orientation: Any) -> float | None:
    """The angle about the vertical axis of a quaternion, radians."""
    x, y, z, w = (float(getattr(orientation, axis)) for axis in "xyzw")
    return number(math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))


def pairs(values: Any) -> dict[str, Json]:
    """Key and value of diagnostic_msgs/KeyValue."""
    return {text(item.key, 100): text(item.value) for item in list(values)[:_LIST]}


def states(values: Any) -> dict[str, Json]:
    """planner_msgs/NamedState by name."""
    return {text(item.name, 100): bool(item.value) for item in list(values)[:_LIST]}


def _place(content: Any) -> dict[str, Json]:
    at, size = content.pose.position, content.size
    return {
        "x": number(at.x),
        "y": number(at.y),
        "z": number(at.z),
        "yaw": heading(content.pose.orientation),
        "size": [number(size.x), number(size.y), number(size.z)],
    }


def task_of(episode_json: str) -> str:
    """The instruction of an episode; "" without one."""
    try:
        found = parse_json(episode_json, "") if episode_json else {}
    except FileError:
        return ""
    return text(found.get("instruction", "")) if isinstance(found, dict) else ""


def true_entity(content: Any) -> dict[str, Json]:
    """From planner_msgs/EntityState."""
    return {
        "kind": KINDS[int(content.kind)],
        "class": text(content.class_name, 200),
        "parent": text(content.parent, 200),
        "relation": text(content.relation, 50),
        "room": text(content.room, 200),
        **_place(content),
        "affordances": texts(content.affordances),
        "states": states(content.states),
        "open": number(content.openness, 2),
        "hands": texts(content.hands),
    }


def believed_nodes(content: Any) -> dict[str, dict[str, Json]]:
    """The nodes of planner_msgs/WorldGraph by name.

    `since` is when the source last confirmed a node, on the world's clock, so that a node that only
    grows older does not change.
    """
    stamp_s = stamp_seconds(content.header.stamp)
    parents = {str(edge.child): edge for edge in content.edges}
    found: dict[str, dict[str, Json]] = {}
    for node in content.nodes:
        edge = parents.get(str(node.name))
        found[text(node.name, 200)] = {
            "kind": KINDS[int(node.kind)],
            "class": text(node.class_name, 200),
            "id": int(node.entity_id),
            "description": text(node.description),
            "room": text(node.room, 200),
            "parent": "" if edge is None else text(edge.parent, 200),
            "relation": "" if edge is None else text(edge.relation, 50),
            **_place(node),
            "affordances": texts(node.affordances),
            "states": states(node.states),
            "open": number(node.openness, 2),
            "hands": texts(node.hands),
            "source": SOURCES[int(node.source)],
            "since": number(stamp_s - float(node.age_s), 0),
        }
    return found


def instruction(content: Any) -> dict[str, Json]:
    """From planner_msgs/InstructStatus."""
    agents = texts(content.agents)
    return {
        "id": text(content.id, 64),
        "at": number(stamp_seconds(content.header.stamp), 2),
        "instruction": text(content.instruction),
        "agents": agents,
        "dialogue": texts(content.dialogue),
        "planner": text(content.planner, 100),
        "model": text(content.model, 200),
        "state": INSTRUCT_STATES[int(content.state)],
        "code": int(content.code),
        "text": text(content.text),
        "question": text(content.question),
        "cycle": int(content.cycle),
        "plan": text(content.plan, 8000),
        "calls": texts(content.calls),
    }


def judgement(content: Any) -> dict[str, Json]:
    """From planner_msgs/Evaluation."""
    return {
        "episode": text(content.episode_id, 200),
        "state": JUDGE_STATES[int(content.status)],
        "percent": number(content.percent_complete, 4),
        "scoring": text(content.scoring, 20),
        "variant": text(content.variant, 100),
        "explanation": text(content.explanation),
        "parts": [
            {
                "text": text(part.text),
                "satisfied": bool(part.satisfied),
                "holds": bool(part.holds),
                "detail": text(part.detail),
            }
            for part in list(content.propositions)[:_LIST]
        ],
    }


def skill_report(content: Any) -> dict[str, Json]:
    """From planner_msgs/SkillReport."""
    took_s = duration_of(content)
    return {
        "at": number(stamp_seconds(content.header.stamp), 2),
        "agent": text(content.agent, 100),
        "call": text(content.call),
        "code": int(content.code),
        "text": text(content.text),
        "took": None if took_s is None else number(took_s, 2),
        "rule": int(content.rule),
        "part_of": text(content.part_of),
    }


def trace_row(content: Any) -> dict[str, Json]:
    """From planner_msgs/PlannerTrace, without prompt, reply and grammar.

    `asked` is whether a model was: a planner without one says by a trace what it has decided.
    """
    return {
        "at": number(stamp_seconds(content.header.stamp), 2),
        "planner": text(content.planner, 100),
        "model": text(content.model, 200),
        "asked": bool(content.model or content.prompt),
        "role": text(getattr(content, "role", ""), 50) or "planner",
        "agents": texts(content.agents),
        "cycle": int(content.cycle),
        "calls": texts(content.calls),
        "error": text(content.error),
        "thought": text(thought(str(content.reply)), 400),
        "prompt_tokens": int(content.prompt_tokens),
        "cached_tokens": int(content.cached_tokens),
        "reply_tokens": int(content.reply_tokens),
        "latency": number(content.latency_s),
    }


def trace_texts(content: Any) -> dict[str, Json]:
    """Prompt, reply and parameters of planner_msgs/PlannerTrace."""
    return {
        "prompt": text(content.prompt, MAX_WHOLE_TEXT),
        "reply": text(content.reply, MAX_WHOLE_TEXT),
        "parameters": pairs(content.parameters),
    }


def thought(reply: str) -> str:
    """The first line of a reply that is not a call, without its label; "" if there is none."""
    for line in reply.splitlines():
        words = line.strip()
        head, _, rest = words.partition(":")
        if rest.strip() and head.strip().lower() in ("thought", "reason", "reasoning"):
            return rest.strip()
        if words and "[" not in words and not words.startswith(("{", "}", "<")):
            return words
    return ""


def question(content: Any) -> dict[str, Json]:
    """From planner_msgs/ApprovalQuestion."""
    at = content.target.point
    return {
        "id": text(content.question_id, 200),
        "agent": text(content.agent, 100),
        "primitive": text(content.primitive, 50),
        "class": text(content.thing_class, 200),
        "why": text(content.why),
        "target": [number(at.x), number(at.y), number(at.z)],
        "expires": number(stamp_seconds(content.expires), 1),
        "picture": asked_picture(content.agent, content.issued) if content.picture_frame else "",
        "in_picture": bool(content.has_pixel),
    }


def asked_picture(agent: Any, issued: Any) -> str:
    """Name of a question's picture, by which the page finds it; both have the same stamp."""
    return f"{text(agent, 100)}/asks/{int(issued.sec)}.{int(issued.nanosec):09d}"


def status(content: Any) -> dict[str, Json]:
    """From diagnostic_msgs/DiagnosticStatus."""
    level = content.level
    value = level[0] if isinstance(level, bytes) else int(level)
    return {
        "level": LEVELS[value],
        "message": text(content.message),
        "hardware": text(content.hardware_id, 200),
        "values": pairs(content.values),
    }
