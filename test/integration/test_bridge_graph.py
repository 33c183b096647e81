"""The graph world over ROS: a foreign graph file as house, primitives, and the edges as truth."""

from pathlib import Path

import graph_kitchen as kitchen
from bridge_harness import Client, bridge

from planner.world.primitive import PrimitiveCode
from planner.world.vocabulary import Relation


def test_primitives_move_edges_over_ros(tmp_path: Path) -> None:
    with bridge(backend="graph", house=kitchen.written(tmp_path), time_mode="fast"):
        client = Client()
        try:
            before = client.state()
            fridge = before.entities["fridge_10"].box.center_m
            pear = before.entities["pear_14"]
            assert (pear.parent, pear.relation) == ("fridge_10", Relation.WITHIN)
            assert client.do("navigate", fridge).code == PrimitiveCode.SUCCESS
            assert client.do("pick", pear.box.center_m).code == PrimitiveCode.CLOSED
            assert client.do("open", fridge).code == PrimitiveCode.SUCCESS
            assert client.do("pick", pear.box.center_m).code == PrimitiveCode.SUCCESS
            held = client.wait(
                lambda: (now := client.state()).entities["agent_0"].holding and now, "the pear"
            )
            assert held.entities["pear_14"].relation is Relation.HELD
            assert held.entities["fridge_10"].openness == 1.0
        finally:
            client.close()
