"""What a simulator says of the truth, heard from outside of the nodes that act on it."""
