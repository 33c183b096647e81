"""Primitives and their results between records and planner_msgs/ExecutePrimitive."""

from __future__ import annotations

from diagnostic_msgs.msg import KeyValue
from geometry_msgs.msg import PointStamped
from planner_msgs.action import ExecutePrimitive

from planner.ros.conversions import header, point_m, point_message, time_message
from planner.world.geometry import Vec3
from planner.world.memory_wire import stamp_seconds
from planner.world.primitive import Drive, Primitive, PrimitiveCode, PrimitiveResult


def goal_message(primitive: Primitive) -> ExecutePrimitive.Goal:
    """The goal that asks for a primitive."""
    reference = primitive.reference_m
    drive = primitive.drive or Drive(0.0)
    return ExecutePrimitive.Goal(
        name=str(primitive.name),
        target=_stamped(primitive.frame, primitive.target_m),
        relation=str(primitive.relation or ""),
        has_reference=reference is not None,
        reference=_stamped(primitive.frame, reference or (0.0, 0.0, 0.0)),
        heading_rad=float(primitive.heading_rad),
        standoff_m=float(primitive.standoff_m),
        pan_rad=[float(pan) for pan, _ in primitive.views_rad],
        tilt_rad=[float(tilt) for _, tilt in primitive.views_rad],
        timeout_s=float(primitive.timeout_s),
        tolerance_m=float(primitive.tolerance_m),
        thing_class=primitive.thing_class,
        hand=str(primitive.hand or ""),
        drive_s=float(drive.duration_s),
        forward_m_s=float(drive.forward_m_s),
        turn_rad_s=float(drive.turn_rad_s),
        pan_rad_s=float(drive.pan_rad_s),
        tilt_rad_s=float(drive.tilt_rad_s),
    )


def result_message(result: PrimitiveResult) -> ExecutePrimitive.Result:
    """The result that reports how a primitive ended."""
    return ExecutePrimitive.Result(
        code=int(result.code),
        text=result.text,
        has_position=result.position_m is not None,
        position=point_message(result.position_m or (0.0, 0.0, 0.0)),
        rule=result.rule,
        evidence=[KeyValue(key=key, value=value) for key, value in result.evidence.items()],
        stamp=time_message(result.ended_s or 0.0),
    )


def result_record(message: ExecutePrimitive.Result) -> PrimitiveResult:
    """The inverse of `result_message`; a code from a newer bridge counts as a fault."""
    known = message.code in set(PrimitiveCode)
    return PrimitiveResult(
        PrimitiveCode(message.code) if known else PrimitiveCode.BACKEND_FAULT,
        message.text if known else f"unknown code {message.code}: {message.text}",
        {item.key: item.value for item in message.evidence},
        point_m(message.position) if message.has_position else None,
        int(message.rule),
        stamp_seconds(message.stamp) or None,
    )


def _stamped(frame: str, point: Vec3) -> PointStamped:
    return PointStamped(header=header(0.0, frame), point=point_message(point))
