"""A small learned ranking of rooms and furniture by where something probably is."""
