"""The five papers, a folder each: what they add to the core, registered by entry points alone.

The core names none of them, and they do not import one another, except for `partnr`'s scenes.
"""
