"""Raw pictures of bags that hold compressed ones: nodes that look through a camera want them.

A recorder may keep `TOPIC/compressed` or `TOPIC/compressedDepth` instead of `TOPIC`. Such a `TOPIC`
is offered as well, and its pictures are unpacked where somebody listens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from planner.replay.bag import TopicInfo
from planner.replay.player.cues import Cue
from planner.world.errors import PlannerError

IMAGE, COMPRESSED_IMAGE = "sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage"
_SUFFIXES = ("/compressed", "/compressedDepth")


def raw_topics(topics: Mapping[str, TopicInfo]) -> dict[str, TopicInfo]:
    """The raw topics that a bag lacks and whose pictures it has; by the topics that have them.

    They have no definition of their own.
    """
    found: dict[str, TopicInfo] = {}
    for source, info in topics.items():
        suffix = next((s for s in _SUFFIXES if source.endswith(s)), None)
        if suffix is None or info.type_name != COMPRESSED_IMAGE:
            continue
        name = source.removesuffix(suffix)
        if name not in topics and all(raw.name != name for raw in found.values()):
            found[source] = replace(info, name=name, type_name=IMAGE, definition="")
    return found


def with_raw_pictures(
    cues: Iterator[Cue], wanted: Callable[[str], bool], unpack: Callable[[bytes], bytes]
) -> Iterator[Cue]:
    """Adds the raw picture to cues of compressed ones.

    Args:
        cues: of a bag.
        wanted: whether somebody listens to the raw pictures of a topic of compressed ones.
        unpack: makes a raw picture of a compressed one, both serialised; a `PlannerError` from it
            means that its data are damaged.
    """
    for cue in cues:
        if cue.data and wanted(cue.topic):
            try:
                yield replace(cue, raw=unpack(cue.data))
                continue
            except PlannerError:
                # Told where it is sent and cannot be unpacked either.
                pass
        yield cue
