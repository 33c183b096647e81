"""A second reading of instructions, by other means, that only checks a goal."""
