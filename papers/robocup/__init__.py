"""RoboCup@Home's general purpose service robot (GPSR): commands, and how many are understood."""
