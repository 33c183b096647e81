"""Exchangeable parts: the records of planners, memories, backends and so on, and where they are.

A part is one record, either in this project's mapping for its kind or in another installed package
that declares it as an entry point (docs/parts.md).
"""
