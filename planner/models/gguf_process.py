"""`python -m planner.models.gguf_process SETTINGS`: llama.cpp with one model, in its own process.

SETTINGS is a JSON object of the fields of `planner.models.gguf.Engine`. Prints the address of its
server, which listens on the loopback only, as the one line of its standard output; the library's
log is on standard error. Ends when its standard input does, so that it never outlives its parent.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def parameters(settings: dict[str, Any]) -> Any:
    """The parameters of llama.cpp for the settings."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = settings["file"]
    params.n_parallel = settings["slots"]
    # Each slot has the whole context: dialogues are long, and few.
    params.n_ctx = settings["context"] * settings["slots"]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings["threads"]
    params.port, params.n_gpu_layers, params.warmup = 0, 0, False
    # What a slot loses to another dialogue is kept here, MiB.
    params.cache_ram_mib = settings["cache_mib"]
    adapters = []
    for path in settings["adapters"]:
        adapter = xllamacpp.CommonAdapterLoraInfo()
        adapter.path, adapter.scale = path, 0.0
        adapters.append(adapter)
    params.lora_adapters = adapters
    return params


def main() -> None:
    """Serves until the standard input ends."""
    import xllamacpp

    try:
        server = xllamacpp.Server(parameters(json.loads(sys.argv[1])))
    except RuntimeError:
        # The reason is in the log.
        os._exit(1)
    print(server.listening_address, flush=True)
    sys.stdin.read()
    # The library's threads would be waited for.
    os._exit(0)


if __name__ == "__main__":
    main()
