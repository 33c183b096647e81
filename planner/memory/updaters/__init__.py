"""The memory updaters of this project: one module each, whose name with dashes is the updater's.

A module imports what it works with only where an updater is made, as lists of updaters are shown
where nothing of that is installed.
"""
