"""The planners of this project: one module each, whose name is the planner's.

A module imports what it works with only where a planner is made, as lists of planners are shown
by commands that make none.
"""
