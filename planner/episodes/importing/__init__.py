"""Episodes from other data sets: what all importers share."""
