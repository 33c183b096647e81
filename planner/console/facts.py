"""What the page shows, as versioned entries made from messages, and differences of versions."""

from __future__ import annotations

import io
import json
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from PIL import Image

from planner.world.errors import FileError
from planner.world.files import parse_json
from planner.world.memory_wire import duration_of, stamp_seconds
from planner.world.observation import RgbImage

# What the page shows, as versioned entries, and the differences between two versions of it.

Json: TypeAlias = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None
_Key: TypeAlias = tuple[str, str]
# By section and key; values are never changed.
Entries: TypeAlias = Mapping[_Key, Json]
# Removed entries that are remembered; a page that is further behind gets everything.
_MAX_REMOVED = 5000


@dataclass(frozen=True, slots=True)
class Patch:
    """The difference to an earlier version.

    Attributes:
        version: that a page has after it.
        text: JSON of the message to the page.
    """

    version: int
    text: str


class Table:
    """Sections of entries, `section -> key -> value`; each change gets the next version.

    One thread changes it, others ask for patches. Values must not be changed after they were set.
    """

    def __init__(self, on_change: Callable[[], None] = lambda: None) -> None:
        """`on_change` is called after each change, in the thread that made it."""
        self._lock = threading.Lock()
        self._on_change = on_change
        self._entries: dict[_Key, Json] = {}
        # Of entries and removed entries; the newest last.
        self._versions: OrderedDict[_Key, int] = OrderedDict()
        self._removed = 0
        # Patches from before this version lack removals.
        self._complete_since = 0
        self._made: dict[int, Patch] = {}
        self.version = 0

    def set(self, section: str, key: str, value: Json) -> None:
        """Sets an entry; an equal value changes nothing."""
        where = (section, key)
        with self._lock:
            if where in self._entries:
                if self._entries[where] == value:
                    return
            elif where in self._versions:
                self._removed -= 1
            self._entries[where] = value
            self._touch(where)
        self._on_change()

    def drop(self, section: str, key: str) -> None:
        """Removes an entry, if there is one."""
        where = (section, key)
        with self._lock:
            if where not in self._entries:
                return
            del self._entries[where]
            self._removed += 1
            self._touch(where)
            self._forget_removed()
        self._on_change()

    def clear(self, section: str) -> None:
        """Removes all entries of a section."""
        for key in self.section(section):
            self.drop(section, key)

    def get(self, section: str, key: str) -> Json:
        """An entry; None if there is none."""
        with self._lock:
            return self._entries.get((section, key))

    def section(self, name: str) -> dict[str, Json]:
        """The entries of a section by key."""
        with self._lock:
            return {key: v for (section, key), v in self._entries.items() if section == name}

    def entries(self, sections: Collection[str]) -> Entries:
        """All entries of some sections."""
        with self._lock:
            return {key: value for key, value in self._entries.items() if key[0] in sections}

    def restore(self, sections: Collection[str], entries: Entries) -> None:
        """Makes these the entries of some sections; what is equal already does not change."""
        for section, key in self.entries(sections):
            if (section, key) not in entries:
                self.drop(section, key)
        for (section, key), value in entries.items():
            self.set(section, key, value)

    def patch(self, since: int) -> Patch:
        """All that changed after a version; everything for one that is too old or not ours."""
        with self._lock:
            whole = not 0 < since <= self.version or since < self._complete_since
            begin = 0 if whole else since
            if begin not in self._made:
                self._made[begin] = self._patch(begin, whole)
            return self._made[begin]

    def _patch(self, begin: int, whole: bool) -> Patch:
        values: dict[str, dict[str, Json]] = {}
        gone: dict[str, list[str]] = {}
        for where, version in reversed(self._versions.items()):
            if version <= begin:
                break
            section, key = where
            if where in self._entries:
                values.setdefault(section, {})[key] = self._entries[where]
            elif not whole:
                gone.setdefault(section, []).append(key)
        kind = "all" if whole else "patch"
        message = {"type": kind, "version": self.version, "set": values, "drop": gone}
        return Patch(self.version, json.dumps(message, separators=(",", ":"), allow_nan=False))

    def _touch(self, where: _Key) -> None:
        self.version += 1
        self._versions[where] = self.version
        self._versions.move_to_end(where)
        self._made.clear()

    def _forget_removed(self) -> None:
        if self._removed <= _MAX_REMOVED:
            return
        for where in [where for where in self._versions if where not in self._entries]:
            self._complete_since = max(self._complete_since, self._versions.pop(where))
        self._removed = 0


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


# Pictures as the page shows them.

# Seen beside each other at a third of their size, more is not told apart.
QUALITY = 80


def jpeg_of(rgb: RgbImage) -> bytes:
    """A JPEG of a picture of colours, (h, w, 3), by the library that draws the plan's labels."""
    packed = io.BytesIO()
    Image.fromarray(rgb).save(packed, "JPEG", quality=QUALITY)
    return packed.getvalue()
