"""Programs of a household robot: statements that are read, checked and carried out as skills."""
