"""An independent observer of a simulator's ground truth."""
