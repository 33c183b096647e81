"""The bridge between one world (simulated or real) and the ROS interface all worlds share."""
