"""The true world and the positions of persons, published by the bridge."""
