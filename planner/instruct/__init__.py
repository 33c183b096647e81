"""Sends an instruction from a terminal to running nodes and prints its story."""
