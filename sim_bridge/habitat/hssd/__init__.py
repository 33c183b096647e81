"""Reads houses of the published HSSD configuration that PARTNR uses.

Written against the documented layout (habitat-sim's docs/pages/attributesJSON.rst, habitat-lab's
receptacles, partnr-planner's metadata interface): rooms, furniture and receptacles, with the
names that PARTNR's episodes use.
"""
