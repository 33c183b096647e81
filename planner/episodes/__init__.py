"""Episodes: importers, the goals that wording determines, and their files."""
