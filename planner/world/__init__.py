"""Shared types: houses, poses, boxes, entities, scene graph, observations, primitives.

Imports nothing else of this project, so that every other package may import it.
"""
