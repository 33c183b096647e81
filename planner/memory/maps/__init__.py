"""Maps that a robot builds from its own depth images: floor and objects."""
