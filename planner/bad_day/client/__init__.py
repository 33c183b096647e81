"""A client of the robots primitives, as a program of its own."""
