"""A commander: instructs running nodes from a Python program of the user's."""
