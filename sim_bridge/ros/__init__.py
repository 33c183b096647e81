"""Backend `ros`: one mobile manipulator behind Nav2, MoveIt and ros2_control."""
