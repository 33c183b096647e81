"""Replies of a form: the grammar that a model is held to, and the parser of what it says."""
