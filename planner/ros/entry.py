"""Entry point of a node's process; handles Ctrl-C while its modules load."""

from __future__ import annotations

import faulthandler
import gc
import importlib
import signal
from collections.abc import Callable


def run_main(module: str, main: str = "main") -> int:
    """Load a node's module and run its `main`, or the function of another name.

    SIGINT while it loads ends the process by that signal, without a traceback. A signal that is
    ignored, as under nohup, stays so. Loaded modules are excluded from garbage collection. A crash
    in native code prints the stacks of all Python threads to stderr.

    Args:
        module: full name of a module with a function that returns the exit status.
        main: the function's name.

    Returns:
        Its status.
    """
    faulthandler.enable()
    heeded = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if heeded:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    run: Callable[[], int] = getattr(importlib.import_module(module), main)
    # A full collection over all modules would block a node for a tenth of a second.
    gc.freeze()
    if heeded:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return run()
