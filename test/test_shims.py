"""Our copies of others' interfaces are those of upstream, field by field."""

from __future__ import annotations

import hashlib
from pathlib import Path

SHIMS = Path(__file__).parents[1] / "shims"
# SHA-256, shortened, of each definition without comments and blanks, as computed from the sources
# of navigation2 (branch kilted), control_msgs 6.8.0, moveit_msgs 2.6.0, octomap_msgs 2.0.0,
# object_recognition_msgs 2.0.0 and vision_msgs 4.1.1.
UPSTREAM = {
    "vision_msgs/msg/Detection3DArray.msg": "93e97838f4ed",
    "vision_msgs/msg/Detection3D.msg": "0633906e62b6",
    "vision_msgs/msg/ObjectHypothesisWithPose.msg": "072cad195464",
    "vision_msgs/msg/ObjectHypothesis.msg": "5c4848f20558",
    "vision_msgs/msg/BoundingBox3D.msg": "c9ad6f325e14",
    "nav2_msgs/msg/WaypointStatus.msg": "a6ab877612b3",
    "nav2_msgs/msg/SpeedLimit.msg": "386ac3142be8",
    "nav2_msgs/action/BackUp.action": "bdca5eedc199",
    "nav2_msgs/action/ComputePathToPose.action": "32ed63c6b650",
    "nav2_msgs/action/NavigateToPose.action": "c79d78ed923f",
    "nav2_msgs/action/NavigateThroughPoses.action": "13bafa748f40",
    "control_msgs/msg/GripperCommand.msg": "4bcba1dd9dbb",
    "control_msgs/msg/JointTolerance.msg": "dddc6efe3c5d",
    "control_msgs/msg/JointComponentTolerance.msg": "e68b6aae4cef",
    "control_msgs/action/FollowJointTrajectory.action": "f0d7c76b6d03",
    "control_msgs/action/GripperCommand.action": "4bdb55f4ef72",
    "control_msgs/action/ParallelGripperCommand.action": "612274be1473",
    "octomap_msgs/msg/Octomap.msg": "c3619e2e9633",
    "octomap_msgs/msg/OctomapWithPose.msg": "7d2b168587ca",
    "object_recognition_msgs/msg/ObjectType.msg": "edd297b65ff8",
    "moveit_msgs/msg/AllowedCollisionEntry.msg": "d038d66437eb",
    "moveit_msgs/msg/AllowedCollisionMatrix.msg": "501b5e7027ba",
    "moveit_msgs/msg/AttachedCollisionObject.msg": "4007ec085f67",
    "moveit_msgs/msg/BoundingVolume.msg": "5e675eacb189",
    "moveit_msgs/msg/CartesianPoint.msg": "ad88c981f253",
    "moveit_msgs/msg/CartesianTrajectory.msg": "aa91513a90aa",
    "moveit_msgs/msg/CartesianTrajectoryPoint.msg": "3d1f74142ee7",
    "moveit_msgs/msg/CollisionObject.msg": "4554bf56addd",
    "moveit_msgs/msg/Constraints.msg": "83c6c0082624",
    "moveit_msgs/msg/GenericTrajectory.msg": "ec65aa1e6a2c",
    "moveit_msgs/msg/Grasp.msg": "94ae3dfcc59e",
    "moveit_msgs/msg/GripperTranslation.msg": "1d635385fa3b",
    "moveit_msgs/msg/JointConstraint.msg": "2530b37ca974",
    "moveit_msgs/msg/LinkPadding.msg": "4322d9433b1e",
    "moveit_msgs/msg/LinkScale.msg": "40cc72c5f505",
    "moveit_msgs/msg/MotionPlanRequest.msg": "dee1ebc36f42",
    "moveit_msgs/msg/MoveItErrorCodes.msg": "a1019b862c9e",
    "moveit_msgs/msg/ObjectColor.msg": "1471b81870ee",
    "moveit_msgs/msg/OrientationConstraint.msg": "47de4f9dfcc3",
    "moveit_msgs/msg/PlanningOptions.msg": "95e847960b95",
    "moveit_msgs/msg/PlanningScene.msg": "e365e9ac5ec6",
    "moveit_msgs/msg/PlanningSceneWorld.msg": "75992ff6467e",
    "moveit_msgs/msg/PositionConstraint.msg": "f3cff0bb72d1",
    "moveit_msgs/msg/PositionIKRequest.msg": "6c7f3390bb5d",
    "moveit_msgs/msg/RobotState.msg": "8e1c0a2d6da0",
    "moveit_msgs/msg/RobotTrajectory.msg": "37fcfdc9a9f6",
    "moveit_msgs/msg/TrajectoryConstraints.msg": "3cf9a2e11485",
    "moveit_msgs/msg/VisibilityConstraint.msg": "af709edd71de",
    "moveit_msgs/msg/WorkspaceParameters.msg": "068c71602fdd",
    "moveit_msgs/action/MoveGroup.action": "b0f067a7f4d7",
    "moveit_msgs/srv/GraspPlanning.srv": "9eb1db82bc03",
    "moveit_msgs/srv/GetPositionIK.srv": "c2a56a82b3b2",
}


def digest(path: Path) -> str:
    lines = ("".join(line.partition("#")[0].split()) for line in path.read_text().splitlines())
    return hashlib.sha256("\n".join(line for line in lines if line).encode()).hexdigest()[:12]


def test_every_definition_has_the_types_names_constants_and_order_of_upstream() -> None:
    ours = {
        str(path.relative_to(SHIMS)): digest(path)
        for kind in ("msg", "srv", "action")
        for path in SHIMS.glob(f"*/{kind}/*.{kind}")
    }
    del ours["tf2_msgs/msg/TFMessage.msg"]
    assert ours == UPSTREAM
