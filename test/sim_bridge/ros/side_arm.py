"""An invented robot whose arm is a telescope to its right, on a lift; metres, radians."""

from __future__ import annotations

import math

from sim_bridge.ros.options import (
    Arm,
    ArmMethod,
    Controller,
    Frames,
    Gripper,
    GripperKind,
    RosOptions,
    Slide,
    default_ros,
)

ACTION = "/driver/follow_joint_trajectory"
LOWEST_M, HAND_M = 0.2, 0.25


def _joint(name: str, kind: str, parent: str, child: str, axis: str, more: str) -> str:
    return (
        f'<link name="{child}"/><joint name="{name}" type="{kind}"><parent link="{parent}"/>'
        f'<child link="{child}"/><axis xyz="{axis}"/>{more}</joint>'
    )


def _limits(low: float, high: float, xyz: str = "0 0 0") -> str:
    return f'<origin xyz="{xyz}"/><limit lower="{low}" upper="{high}" velocity="1" effort="1"/>'


URDF = "".join(
    (
        '<robot name="side_armed"><link name="base"/>',
        _joint("lift", "prismatic", "base", "mast", "0 0 1", _limits(0, 1, f"0 0 {LOWEST_M}")),
        _joint("inner", "prismatic", "mast", "tube", "0 -1 0", _limits(0, 0.25, "0 -0.2 0")),
        _joint("outer", "prismatic", "tube", "wrist", "0 -1 0", _limits(0, 0.25)),
        _joint("yaw", "revolute", "wrist", "yawed", "0 0 1", _limits(-1.7, 4)),
        _joint("pitch", "revolute", "yawed", "pitched", "1 0 0", _limits(-0.6, 1.6)),
        _joint("roll", "revolute", "pitched", "rolled", "0 1 0", _limits(-3, 3)),
        _joint(
            "palm",
            "fixed",
            "rolled",
            "hand",
            "0 0 1",
            f'<origin xyz="0 -{HAND_M} 0" rpy="0 0 {-math.pi / 2}"/>',
        ),
        _joint("finger", "prismatic", "hand", "left", "0 1 0", _limits(0, 0.05)),
        _joint("other", "prismatic", "hand", "right", "0 -1 0", _limits(0, 0)),
        "</robot>",
    )
)
POSTURE = {"lift": 0.5, "extension": 0.1, "yaw": 0.0, "pitch": 1.5, "roll": 0.0}
OPTIONS = default_ros().model_copy(
    update={
        "name": "side_armed",
        "frames": Frames(base="base"),
        "arm": Arm(
            method=ArmMethod.TRAJECTORY,
            tip="hand",
            approach="x",
            closing="y",
            controllers=(Controller(action=ACTION, joints=tuple(POSTURE)),),
            shared={"extension": ("inner", "outer")},
            side_rad=-math.pi / 2,
            slide=Slide(joint="base_ahead", range_m=0.3),
            carry=POSTURE,
            ready=POSTURE,
        ),
        "gripper": Gripper(
            kind=GripperKind.TRAJECTORY,
            action=ACTION,
            joint="finger",
            others=("other",),
            open=0.05,
            closed=0.0,
            joint_open=0.05,
            joint_closed=0.0,
            width_m=0.1,
        ),
        "head": None,
    }
)
assert isinstance(OPTIONS, RosOptions)
