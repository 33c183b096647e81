"""RoboCup@Home's general purpose service robot (GPSR): commands, and how many are understood."""

from planner.parts.command import CommandPart

GPSR = CommandPart.of_module(
    "papers.robocup.gpsr", "commands of RoboCup@Home's GPSR: how many are understood"
)
