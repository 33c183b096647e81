"""A process beside the bridge that stops the robot when the bridge hangs or is gone."""
