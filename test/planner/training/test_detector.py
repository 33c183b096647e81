"""The network of the memory's model in PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

from planner.memory.learned.network import convolutions
from planner.memory.learned.segments import read_model_file
from planner.training.detector import folded_weights, torch_network, unfold_weights
from planner.world.share import config_dir

torch = pytest.importorskip("torch", reason="needs the extra train (torch)")


def test_training_can_begin_with_the_weights_that_ship() -> None:
    """It computes the same with them, whether or not it is being trained, and writes them again."""
    given = read_model_file(config_dir() / "models" / "memory.safetensors").weights
    channels = next(iter(convolutions())).inputs
    images = np.random.default_rng(0).normal(size=(4, channels, 64, 64)).astype(np.float32)
    net = torch_network(10)
    unfold_weights(net, given, images)
    again = folded_weights(net)
    assert all(np.allclose(again[name], given[name], atol=1e-5) for name in again)
    with torch.no_grad():
        _, rested = net.eval()(torch.from_numpy(images))
        _, trained = net.train()(torch.from_numpy(images))
    assert float(rested.std()) > 0.1
    assert torch.allclose(rested, trained, atol=0.02)
