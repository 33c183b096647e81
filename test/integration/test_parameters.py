"""Parameters of every node over ROS: described, bounded, read-only; integers where floats go."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from bridge_harness import Client
from diagnostic_msgs.msg import DiagnosticArray
from node_processes import running
from rcl_interfaces.msg import Parameter, ParameterDescriptor, ParameterType, ParameterValue
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    ListParameters,
    SetParameters,
    SetParametersAtomically,
)
from rclpy.parameter import parameter_value_to_python

from planner.ros import qos
from planner.world import topics

# rclpy's own, which follow ROS's rules.
RCLPY_OWN = {"use_sim_time", "start_type_description_service"}
# The only integers among those given below: the others are floats, given as `1` on purpose.
INTEGERS = {"port"}
# Each node and what it needs to start alone; a float is given as `1` where the node has one.
NODES: dict[str, dict[str, object]] = {
    "bridge": {"rate": 2, "camera_hz": 5},
    "memory": {"house": "heldout_0", "update_period": 1},
    "skill_executor": {"house": "heldout_0"},
    "task_planner": {"house": "heldout_0", "wait": 60},
    "evaluator": {},
    "console": {"port": 0},
    "recorder": {"image_hz": 1},
    "narrator": {"instruction": "Tidy.", "wait": 60},
    "tour": {"house": "heldout_0", "wait": 60},
}


@pytest.fixture
def client() -> Iterator[Client]:
    made = Client()
    yield made
    made.close()


def described(client: Client, node: str) -> dict[str, ParameterDescriptor]:
    listed = client.call(ListParameters, f"/{node}/list_parameters").result.names
    names = sorted(name for name in listed if name not in RCLPY_OWN)
    answer = client.call(DescribeParameters, f"/{node}/describe_parameters", names=names)
    return dict(zip(names, answer.descriptors, strict=True))


@pytest.mark.parametrize("node", NODES)
def test_every_parameter_is_described_and_refuses_to_be_set(
    client: Client, node: str, tmp_path: Path
) -> None:
    given = {**NODES[node]}
    if node == "recorder":
        given["folder"] = tmp_path / "bag"
    with running(node, **given):
        found = described(client, node)
        answer = client.call(GetParameters, f"/{node}/get_parameters", names=list(found))
        values = dict(zip(found, answer.values, strict=True))
        requests = [Parameter(name=name, value=value) for name, value in values.items()]
        set_answer = client.call(SetParameters, f"/{node}/set_parameters", parameters=requests)
    assert found
    for name, descriptor in found.items():
        assert descriptor.description, name
        assert descriptor.read_only, name
        assert not descriptor.dynamic_typing, name
        # As declared, whatever was written on the command line: ranges hold for this type.
        assert values[name].type == descriptor.type, name
        numeric = descriptor.type in (
            ParameterType.PARAMETER_DOUBLE,
            ParameterType.PARAMETER_INTEGER,
        )
        if numeric:
            assert descriptor.floating_point_range or descriptor.integer_range, name
    for name, result in zip(found, set_answer.results, strict=True):
        assert not result.successful, name
        assert "read-only" in result.reason
        assert name in result.reason
    for name, value in given.items():
        if isinstance(value, int):
            integer = name in INTEGERS
            assert values[name].type == (
                ParameterType.PARAMETER_INTEGER if integer else ParameterType.PARAMETER_DOUBLE
            )
            assert parameter_value_to_python(values[name]) == float(value)


@pytest.mark.parametrize("node", NODES)
def test_a_value_of_an_unknown_type_is_refused_and_ends_no_node(
    client: Client, node: str, tmp_path: Path
) -> None:
    given = {**NODES[node]}
    if node == "recorder":
        given["folder"] = tmp_path / "bag"
    heard = client.listen(DiagnosticArray, topics.DIAGNOSTICS, qos.DIAGNOSTICS)
    with running(node, **given) as process:
        names = ["use_sim_time", *described(client, node), "nobody_declared_it", "", "a b\0c"]
        wrong = [
            Parameter(name=name, value=ParameterValue(type=kind))
            for name in names
            for kind in (10, 99, 255)
        ]
        one_by_one = client.call(SetParameters, f"/{node}/set_parameters", parameters=wrong)
        whole = client.call(
            SetParametersAtomically, f"/{node}/set_parameters_atomically", parameters=wrong
        )
        again = client.call(ListParameters, f"/{node}/list_parameters").result.names
        name = f"{node}: callbacks"
        client.wait(lambda: [s for message in heard for s in message.status if s.name == name])
        assert process.poll() is None
    assert len(one_by_one.results) == len(wrong)
    for result in (*one_by_one.results, whole.result):
        assert not result.successful
        assert "is not a valid" in result.reason
    assert set(names[:-3]) <= set(again)
    assert "the node goes on" in process.log


def test_descriptors_tell_bounds_and_choices(client: Client) -> None:
    with running("bridge"):
        found = described(client, "bridge")
    (camera_range,) = found["camera_hz"].floating_point_range
    assert (camera_range.from_value, camera_range.to_value) == (0.1, 30.0)
    (seed_range,) = found["seed"].integer_range
    assert seed_range.from_value == 0
    assert found["time_mode"].additional_constraints == "one of paced, fast, stepped"
