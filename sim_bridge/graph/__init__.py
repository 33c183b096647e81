"""A world of nodes and edges, as VirtualHome's."""
