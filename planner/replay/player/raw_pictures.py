"""Raw pictures from bags with compressed ones, for nodes that subscribe to cameras.

A recorder may keep `TOPIC/compressed` or `TOPIC/compressedDepth` instead of `TOPIC`. Such a `TOPIC`
is offered as well, and its pictures are decompressed if it has subscribers.
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
    """The raw topics that a bag lacks, by the topics that have the compressed pictures.

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
    cues: Iterator[Cue], has_subscribers: Callable[[str], bool], unpack: Callable[[bytes], bytes]
) -> Iterator[Cue]:
    """Adds the raw picture to cues of compressed ones.

    Args:
        cues: of a bag.
        has_subscribers: whether the raw form of a compressed topic has subscribers.
        unpack: decompresses a picture, both serialised; a `PlannerError` from it means that its
            data are damaged.
    """
    for cue in cues:
        if cue.data and has_subscribers(cue.topic):
            try:
                yield replace(cue, raw=unpack(cue.data))
                continue
            except PlannerError:
                # Reported when it is sent and cannot be decompressed either.
                pass
        yield cue
