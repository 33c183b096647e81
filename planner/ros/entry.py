"""How a node's process begins: its modules take seconds to load, and Ctrl-C may come then."""

from __future__ import annotations

import gc
import importlib
import signal
from collections.abc import Callable


def run_main(module: str) -> int:
    """Load a node's module and run its `main`.

    SIGINT while it loads ends the process by that signal, without a traceback of whatever was
    just being imported. A signal that is ignored, as under nohup, stays so. What is loaded
    stays, and the collector of garbage no longer looks at it.

    Args:
        module: full name of a module with a function `main` that returns the exit status.

    Returns:
        The status of `main`.
    """
    heeded = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if heeded:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    main: Callable[[], int] = importlib.import_module(module).main
    # A full collection among all that modules made holds a node up for a tenth of a second.
    gc.freeze()
    if heeded:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return main()
