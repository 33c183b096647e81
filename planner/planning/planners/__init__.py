"""The planners of this project; those of a paper are entry points (pyproject.toml).

A module imports its implementation only when a planner is made, since commands that just list
planners load all of these modules.
"""
