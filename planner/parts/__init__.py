"""Exchangeable parts: the records of planners, memories, backends and so on, and where they are.

A part is one record in a module of its own, either in this project's folder for its kind or in
another installed package that declares it as an entry point (docs/parts.md).
"""
