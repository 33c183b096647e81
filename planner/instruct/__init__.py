"""An instruction from a terminal to running nodes, and its story back."""
