"""What importers share: safe reading, and scenes of other data sets as houses of ours."""
