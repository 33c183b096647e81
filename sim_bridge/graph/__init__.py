"""A world of nodes and edges, like VirtualHome's."""
