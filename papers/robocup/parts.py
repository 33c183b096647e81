"""The records of RoboCup@Home's commands; their modules are imported when they are called."""

from planner.parts.command import CommandPart

GPSR = CommandPart.of_module(
    "papers.robocup.gpsr", "commands of RoboCup@Home's GPSR: how many are understood"
)
