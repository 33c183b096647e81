"""The true world, published by the bridge."""
