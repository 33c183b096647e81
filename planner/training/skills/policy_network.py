"""The network of a policy in torch, with the weights' names of the NumPy one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.skills.policy.network import CONVOLUTIONS, HIDDEN
from planner.skills.policy.space import CELLS, Floats, PolicySpace

if TYPE_CHECKING:
    import torch


def make_body(space: PolicySpace) -> torch.nn.Module:
    """The convolutions and the hidden layer; takes layers and features, gives (n, HIDDEN)."""
    import torch

    class Body(torch.nn.Module):  # type: ignore[misc] # torch is not installed
        def __init__(self) -> None:
            super().__init__()
            channels, side = space.layers, CELLS
            made = []
            for out, kernel, stride in CONVOLUTIONS:
                made.append(torch.nn.Conv2d(channels, out, kernel, stride, kernel // 2))
                channels, side = out, side // stride
            self.convolution = torch.nn.ModuleList(made)
            self.hidden = torch.nn.Linear(channels * side * side + space.features, HIDDEN)

        def forward(self, layers: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
            x = layers
            for convolution in self.convolution:
                x = torch.relu(convolution(x))
            flat = torch.cat([x.flatten(1), features], dim=1)
            return torch.relu(self.hidden(flat))

    return Body()


def make_policy(space: PolicySpace) -> torch.nn.Module:
    """The whole network: takes layers and features, gives (n, actions) scores."""
    import torch

    class Policy(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.body = make_body(space)
            self.action = torch.nn.Linear(HIDDEN, space.actions)

        def forward(self, layers: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
            scores: torch.Tensor = self.action(self.body(layers, features))
            return scores

    return Policy()


def weights_of(policy: torch.nn.Module) -> dict[str, Floats]:
    """The weights by the names of `planner.skills.policy.network.network_shapes`."""
    return {
        name.removeprefix("body."): np.ascontiguousarray(
            tensor.detach().cpu().numpy(), dtype=np.float32
        )
        for name, tensor in policy.state_dict().items()
    }
