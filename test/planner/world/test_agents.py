"""Bodies and what they can do."""

from __future__ import annotations

from dataclasses import fields

import pytest

from planner.world.agents import Body, capabilities_of, default_bodies
from planner.world.primitive import Capabilities
from planner.world.vocabulary import AgentKind


@pytest.mark.parametrize("kind", AgentKind)
def test_capabilities_have_every_field_that_the_body_declares(kind: AgentKind) -> None:
    body = default_bodies()[kind]
    able = capabilities_of(kind.value)
    assert able is not None
    shared = {item.name for item in fields(Capabilities)} & set(Body.model_fields)
    assert shared == {"kind", "primitives", "cameras", "reach_m", "radius_m", "hands"}
    for name in shared - {"primitives", "cameras"}:
        assert getattr(able, name) == getattr(body, name)
    assert able.primitives == set(body.primitives)
    assert able.cameras == tuple(body.cameras)
    assert not able.ground_truth


def test_a_backend_narrows_primitives_and_cameras_and_adds_ground_truth() -> None:
    able = default_bodies()[AgentKind.ROBOT].capabilities(
        ground_truth=True, primitives={"pick"}, cameras=()
    )
    assert (able.primitives, able.cameras, able.ground_truth) == ({"pick"}, (), True)


def test_an_unknown_kind_has_no_capabilities() -> None:
    assert capabilities_of("ghost") is None
