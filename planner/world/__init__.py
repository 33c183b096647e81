"""Shared vocabulary: houses, poses, boxes, entities, scene graph, observations, primitives.

Imports nothing else of this project, so that every other part may import it.
"""
