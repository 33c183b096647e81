"""Writing a house as a Habitat scene dataset; needs trimesh, not habitat_sim."""

from sim_bridge.habitat.dataset.records import HabitatDataset, JointHandle, Template
from sim_bridge.habitat.dataset.writer import (
    export_bodies,
    export_habitat,
    export_things,
    read_dataset,
)

__all__ = [
    "HabitatDataset",
    "JointHandle",
    "Template",
    "export_bodies",
    "export_habitat",
    "export_things",
    "read_dataset",
]
