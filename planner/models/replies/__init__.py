"""Forms of replies: the grammar that constrains a model, and the parser of its text."""
