"""The chat models of this project, one module each, named as the model is.

A module imports its libraries only when a model is made.
"""
