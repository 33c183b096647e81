"""Parts that can be exchanged: what a planner, a memory, a backend says of itself, and where it is.

A part is one record in a module of its own: in this project's folder of its kind, or in another
installed package that names it as an entry point (docs/parts.md).
"""
