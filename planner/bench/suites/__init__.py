"""The suites of this project: one module each, whose name is the suite's."""
