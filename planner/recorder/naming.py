"""Names of topics in a bag: without the recorder's namespace."""

from __future__ import annotations

from planner.world.topics import DIAGNOSTICS, PARAMETER_EVENTS, ROSOUT

# Shared by all namespaces; frames and time belong to one stack (docs/bridge.md).
SHARED_TOPICS = (ROSOUT, PARAMETER_EVENTS, DIAGNOSTICS)


def name_in_bag(name: str, namespace: str) -> str | None:
    """A topic's name in the bag, the same for readers whatever the namespace was.

    Args:
        name: full name of the topic.
        namespace: full name of the recorder's namespace; `/` keeps all names.

    Returns:
        The name, or None for a topic of another namespace.
    """
    place = namespace.rstrip("/")
    if name.startswith(f"{place}/"):
        return name.removeprefix(place)
    return name if name in SHARED_TOPICS else None
