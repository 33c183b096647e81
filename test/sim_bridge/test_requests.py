import math
from dataclasses import replace

import pytest

from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName, PrimitiveResult
from planner.world.vocabulary import Relation
from sim_bridge.runtime import Request, read_request

AGENTS = ("agent_0", "agent_1")
PICK = Request("pick", (1.0, 2.0, 0.5), "map")
PLACE = replace(PICK, name="place", relation="on")


def read(request: Request) -> Primitive | PrimitiveResult:
    return read_request("agent_0", AGENTS, request)


def test_a_sound_request_becomes_the_primitive() -> None:
    request = replace(
        PLACE, reference_m=(1.0, 0.0, 0.0), reference_frame="map", heading_rad=1.0, timeout_s=9.0
    )
    assert read(request) == Primitive(
        PrimitiveName.PLACE,
        (1.0, 2.0, 0.5),
        "map",
        Relation.ON,
        (1.0, 0.0, 0.0),
        heading_rad=1.0,
        timeout_s=9.0,
    )


def test_looking_around_needs_no_target() -> None:
    request = Request("look", (0.0, 0.0, 0.0), "", pan_rad=(0.0, 1.0), tilt_rad=(0.2, 0.3))
    primitive = read(request)
    assert isinstance(primitive, Primitive)
    assert primitive.views_rad == ((0.0, 0.2), (1.0, 0.3))


@pytest.mark.parametrize("frame", ["map", "agent_0/odom", "agent_0/base_link"])
def test_its_own_frames_and_the_map_are_known(frame: str) -> None:
    assert isinstance(read(replace(PICK, frame=frame)), Primitive)


@pytest.mark.parametrize(
    ("request_", "code", "says"),
    [
        (replace(PICK, name="fly"), PrimitiveCode.UNKNOWN_PRIMITIVE, "'fly'"),
        (replace(PICK, name=""), PrimitiveCode.UNKNOWN_PRIMITIVE, "navigate"),
        (replace(PICK, frame=""), PrimitiveCode.BAD_FRAME, "no frame"),
        (replace(PICK, frame="world"), PrimitiveCode.BAD_FRAME, "'world'"),
        (replace(PICK, frame="agent_1/odom"), PrimitiveCode.BAD_FRAME, "agent_1/odom"),
        (replace(PICK, frame="agent_5/odom"), PrimitiveCode.UNKNOWN_AGENT, "agent_5"),
        (replace(PICK, target_m=(math.nan, 0, 0)), PrimitiveCode.BAD_TARGET, "nan"),
        (replace(PICK, target_m=(0, math.inf, 0)), PrimitiveCode.BAD_TARGET, "inf"),
        (replace(PICK, name="place"), PrimitiveCode.BAD_TARGET, "relation"),
        (replace(PLACE, relation="under"), PrimitiveCode.BAD_TARGET, "under"),
        (
            replace(PLACE, reference_m=(0, 0, 0), reference_frame="agent_0/odom"),
            PrimitiveCode.BAD_FRAME,
            "one frame",
        ),
        (
            replace(PLACE, reference_m=(0, math.nan, 0), reference_frame="map"),
            PrimitiveCode.BAD_TARGET,
            "reference",
        ),
        (replace(PICK, pan_rad=(1.0,)), PrimitiveCode.BAD_TARGET, "pan_rad has 1"),
        (
            Request("look", (0, 0, 0), "map", pan_rad=(math.nan,), tilt_rad=(0.0,)),
            PrimitiveCode.BAD_TARGET,
            "view",
        ),
        (replace(PICK, heading_rad=math.inf), PrimitiveCode.BAD_TARGET, "heading_rad"),
        (replace(PICK, standoff_m=-1.0), PrimitiveCode.BAD_TARGET, "standoff_m"),
        (replace(PICK, timeout_s=-1.0), PrimitiveCode.BAD_TARGET, "timeout_s"),
        (replace(PICK, timeout_s=math.nan), PrimitiveCode.BAD_TARGET, "timeout_s"),
    ],
)
def test_a_wrong_request_gets_its_code_and_says_what_is_wrong(
    request_: Request, code: PrimitiveCode, says: str
) -> None:
    result = read(request_)
    assert isinstance(result, PrimitiveResult)
    assert result.code is code
    assert says in result.text
