"""A client of the robot's primitives, as a program of its own."""
