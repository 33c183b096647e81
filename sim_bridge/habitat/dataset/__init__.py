"""Writing a house as a Habitat scene dataset; needs trimesh, not habitat_sim."""
