"""The publishers of a bag's topics."""
