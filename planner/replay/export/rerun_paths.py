"""Entity paths in a Rerun recording, shared by export and blueprint.

Names from a bag are escaped, so that each is one part of a path.
"""

from __future__ import annotations

APPLICATION = "planner"
WORLD_TIME, RECEIPT_TIME = "sim_time", "log_time"

WORLD = "/world"
WALLS = "/world/house/walls"
GRAPH = "/world_graph"
INSTRUCTION = "/texts/instruction"
PLAN = "/texts/plan"
QUESTION = "/texts/question"
BELIEF_TEXT = "/texts/world_graph"
JUDGE_TEXT = "/texts/judge"
PROMPT, REPLY = "/texts/prompt", "/texts/reply"
LOGS = "/log"
CALL_LOG, PLANNER_LOG = "/log/calls", "/log/planner"
MEMORY_LOG, NODE_LOG = "/log/memory", "/log/rosout"
PROGRESS = "/plots/progress/percent_complete"
TOKENS = "/plots/tokens"
SECONDS = "/plots/seconds"
CALLS = "/calls"


def path(*parts: str) -> str:
    """The entity path of some names, each escaped."""
    import rerun as rr

    # Rerun drops empty parts.
    return "/" + "/".join(rr.escape_entity_path_part(part or "_") for part in parts)


def room(name: str) -> str:
    """A room's outline."""
    return path("world", "house", "rooms", name)


def furniture(name: str) -> str:
    """A piece of furniture of the house file."""
    return path("world", "house", "furniture", name)


def truth(name: str) -> str:
    """An entity of the true world."""
    return path("world", "truth", name)


def belief(name: str) -> str:
    """An object or agent in the memory's belief."""
    return path("world", "belief", name)


def way(agent: str) -> str:
    """The path that an agent took."""
    return path("world", "agents", agent, "way")


def camera(agent: str, name: str) -> str:
    """A camera's intrinsics; its pictures are below."""
    return path("world", "cameras", agent, name)


def rgb(agent: str, name: str) -> str:
    """A camera's colour pictures."""
    return f"{camera(agent, name)}/rgb"


def depth(agent: str, name: str) -> str:
    """A camera's depth pictures."""
    return f"{camera(agent, name)}/depth"


def frame(name: str) -> str:
    """The transform from a frame of /tf to its parent."""
    return path("tf", *(part for part in name.split("/") if part))


def call(agent: str) -> str:
    """The running call of an agent, as a state over time."""
    return path("calls", agent)
