"""Hears the word "stop" in a stream of sound, before any recogniser has read it.

A small network looks at 0.9 s of sound every 40 ms. It is trained and tested on speech of espeak-ng
(`scripts/stop_spotter.py`), and decides for itself: what else is heard does not matter to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from safetensors.numpy import load_file

from planner.voice.part import RATE_HZ
from planner.world.errors import FileError
from planner.world.share import config_dir

Floats = npt.NDArray[np.float32]

FRAME, HOP, FFT, BANDS = 400, 320, 512, 24
WINDOW = 45
# Frames between two looks; how many looks in a row, on average, have to be sure.
STRIDE, LOOKS = 2, 3
# Loudness of a very quiet room, of 32768.
_ROOM = 60.0
_LOW_HZ, _HIGH_HZ = 100.0, 7000.0


@cache
def _bank() -> Floats:
    """Triangles on the mel scale, (BANDS, FFT // 2 + 1)."""

    def mel(hertz: float) -> float:
        return 2595.0 * float(np.log10(1.0 + hertz / 700.0))

    edges = np.linspace(mel(_LOW_HZ), mel(_HIGH_HZ), BANDS + 2)
    hertz = 700.0 * (10.0 ** (edges / 2595.0) - 1.0)
    at = np.fft.rfftfreq(FFT, 1.0 / RATE_HZ)
    rise = (at - hertz[:-2, None]) / (hertz[1:-1] - hertz[:-2])[:, None]
    fall = (hertz[2:, None] - at) / (hertz[2:] - hertz[1:-1])[:, None]
    return np.asarray(np.maximum(0.0, np.minimum(rise, fall)), np.float32)


def features(samples: npt.NDArray[np.int16]) -> Floats:
    """Log energies of bands, (frames, BANDS), of samples at `RATE_HZ`."""
    count = max(0, (len(samples) - FRAME) // HOP + 1)
    if not count:
        return np.zeros((0, BANDS), np.float32)
    strips = np.lib.stride_tricks.sliding_window_view(samples, FRAME)[: count * HOP : HOP]
    shaped = strips.astype(np.float32) / 32768.0 * np.hanning(FRAME).astype(np.float32)
    power = np.abs(np.fft.rfft(shaped, FFT)) ** 2
    return np.asarray(np.log(power @ _bank().T + 1e-6), np.float32)


def windows(frames: Floats) -> Floats:
    """Each `STRIDE` frames one window, (n, WINDOW * BANDS), free of loudness and colour."""
    if len(frames) < WINDOW:
        return np.zeros((0, WINDOW * BANDS), np.float32)
    seen = np.lib.stride_tricks.sliding_window_view(frames, WINDOW, axis=0)[::STRIDE]
    centred = seen - seen.mean(axis=2, keepdims=True)
    scale = centred.std(axis=(1, 2), keepdims=True) + 0.3
    return np.asarray((centred / scale).reshape(len(seen), -1), np.float32)


@dataclass(frozen=True, slots=True)
class Network:
    """Weights: (inputs, hidden), (hidden,), (hidden,) and (1,); how sure it has to be, 0 to 1."""

    first: Floats
    bias: Floats
    second: Floats
    last: Floats
    threshold: float

    def sureness(self, seen: Floats) -> Floats:
        """Of each window, (n,), how sure it is that "stop" ends there, 0 to 1."""
        hidden = np.maximum(0.0, seen @ self.first + self.bias)
        raw = np.clip(hidden @ self.second + self.last, -30.0, 30.0)
        return np.asarray(1.0 / (1.0 + np.exp(-raw)), np.float32)


def read_network(path: Path) -> Network:
    """Reads the weights.

    Raises:
        FileError: if they are missing or of another shape.
    """
    try:
        read = {name: value.astype(np.float32) for name, value in load_file(path).items()}
        network = Network(
            read["first"], read["bias"], read["second"], read["last"], float(read["threshold"][0])
        )
    except (OSError, KeyError, ValueError, IndexError) as error:
        raise FileError(path, "", f"no weights of the stop spotter: {error!r}") from None
    hidden = len(network.bias)
    shapes = (network.first.shape, network.second.shape, network.last.shape)
    if shapes != ((WINDOW * BANDS, hidden), (hidden,), (1,)):
        raise FileError(path, "", f"weights of the stop spotter of another shape: {shapes}")
    return network


@lru_cache(maxsize=1)
def shipped_network() -> Network:
    """The network that ships with the package, read once."""
    return read_network(config_dir() / "voice" / "stop.safetensors")


class StopSpotter:
    """Listens to a stream, block by block."""

    def __init__(self, network: Network | None = None) -> None:
        self._network = network or shipped_network()
        self._draw = np.random.default_rng(0)
        self.forget()

    def forget(self) -> None:
        """Begins anew: what comes next does not follow on what came before."""
        self._samples = np.zeros(0, np.int16)
        self._frames = np.zeros((0, BANDS), np.float32)
        self._sure = np.zeros(0, np.float32)

    def hear(self, pcm: bytes) -> bool:
        """Takes the next sound; whether "stop" was said in it."""
        came = np.frombuffer(pcm, "<i2").astype(np.int32)
        # Quieter than any room: perfect silence around a word is nothing that it was trained on.
        came += self._draw.normal(0.0, _ROOM, len(came)).astype(np.int32)
        self._samples = np.concatenate([self._samples, np.clip(came, -32768, 32767).astype("<i2")])
        new = features(self._samples)
        self._samples = self._samples[len(new) * HOP :]
        self._frames = np.concatenate([self._frames, new])
        seen = windows(self._frames)
        self._frames = self._frames[len(seen) * STRIDE :]
        self._sure = np.concatenate([self._sure, self._network.sureness(seen)])
        if len(self._sure) < LOOKS:
            return False
        means = np.convolve(self._sure, np.full(LOOKS, 1.0 / LOOKS), "valid")
        self._sure = self._sure[1 - LOOKS :]
        return bool(means.max() > self._network.threshold)
