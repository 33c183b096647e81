"""The chat models of this project: one module each, whose name is the model's.

A module imports what it works with only where a model is made.
"""
