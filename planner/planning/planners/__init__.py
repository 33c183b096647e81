"""The planners of this project, one per module; the module's name is the planner's.

A module imports its implementation only when a planner is made, since commands that just list
planners load all of these modules.
"""
