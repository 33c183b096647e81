"""Raw pictures of bags that hold compressed ones."""

from __future__ import annotations

from pathlib import Path

from played_bags import make_bag, picture, words

from planner.replay.bag import Bag, TopicInfo
from planner.replay.player.cues import Cue, CueKind
from planner.replay.player.options import PlayOptions, chosen_topics
from planner.replay.player.raw_pictures import (
    COMPRESSED_IMAGE,
    IMAGE,
    raw_topics,
    with_raw_pictures,
)
from planner.replay.player.selection import Selection
from planner.world.errors import PlannerError


def infos(**types: str) -> dict[str, TopicInfo]:
    names = {key: "/" + key.replace("__", "/") for key in types}
    return {names[k]: TopicInfo(names[k], kind, "text", 1) for k, kind in types.items()}


def test_raw_topics_are_those_that_the_bag_lacks() -> None:
    topics = infos(
        hand__compressed=COMPRESSED_IMAGE,
        depth__compressedDepth=COMPRESSED_IMAGE,
        both__compressed=COMPRESSED_IMAGE,
        both=IMAGE,
        words__compressed="std_msgs/msg/String",
        other__zstd=COMPRESSED_IMAGE,
        twice__compressed=COMPRESSED_IMAGE,
        twice__compressedDepth=COMPRESSED_IMAGE,
    )
    found = raw_topics(topics)
    assert {source: info.name for source, info in found.items()} == {
        "/hand/compressed": "/hand",
        "/depth/compressedDepth": "/depth",
        "/twice/compressed": "/twice",
    }
    assert all((info.type_name, info.definition) == (IMAGE, "") for info in found.values())


def test_pictures_are_unpacked_where_somebody_listens() -> None:
    cues = [Cue(CueKind.BEGIN, 0), Cue(CueKind.MESSAGE, 1, "/a", b"xy")]
    cues += [Cue(CueKind.MESSAGE, 2, "/b", b"xy"), Cue(CueKind.STATE, 3, "/a", b"broken")]

    def unpack(data: bytes) -> bytes:
        if data == b"broken":
            raise PlannerError("damaged")
        return data * 2

    found = list(with_raw_pictures(iter(cues), lambda topic: topic == "/a", unpack))
    assert [cue.raw for cue in found] == [b"", b"xyxy", b"", b""]
    assert [(cue.stamp_ns, cue.data) for cue in found] == [(c.stamp_ns, c.data) for c in cues]


def test_raw_pictures_are_chosen_by_their_own_names(tmp_path: Path) -> None:
    said = [picture("/hand/compressed", 0.0), words("/w", 0.0, "a")]
    topics = Bag(make_bag(tmp_path / "bag", said)).topics

    def chosen(**fields: object) -> tuple[dict[str, str], dict[str, str]]:
        selection = Selection(**fields)  # type: ignore[arg-type]
        found, _ = chosen_topics(topics, PlayOptions(selection=selection))
        return dict(found.names), dict(found.pictures)

    packed = {"/hand/compressed": "/hand/compressed"}
    assert chosen() == ({**packed, "/w": "/w"}, {"/hand/compressed": "/hand"})
    assert chosen(topics=("/hand",)) == ({}, {"/hand/compressed": "/hand"})
    assert chosen(topics=("/hand/*",)) == (packed, {})
    assert chosen(exclude=("/hand",)) == ({**packed, "/w": "/w"}, {})
    remapped = chosen(topics=("/hand",), remap={"/hand": "/eye"})
    assert remapped == ({}, {"/hand/compressed": "/eye"})
