"""Without the extra `spot` everything else works, and the backend says what to install."""

import builtins
from collections.abc import Mapping, Sequence

import pytest

from planner.world.errors import PlannerError
from sim_bridge.backend import make_backend


@pytest.mark.parametrize("name", ["spot", "spot_emulator"])
def test_the_backend_says_in_one_line_what_to_install(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    original = builtins.__import__

    def without(
        module: str,
        globals_: Mapping[str, object] | None = None,
        locals_: Mapping[str, object] | None = None,
        fromlist: Sequence[str] = (),
        level: int = 0,
    ) -> object:
        if module.partition(".")[0] == "bosdyn" or module == "sim_bridge.spot.backend":
            raise ModuleNotFoundError("No module named 'bosdyn'", name="bosdyn")
        return original(module, globals_, locals_, fromlist, level)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(PlannerError, match="needs the Spot SDK: pip install") as caught:
        make_backend(name)
    assert "\n" not in str(caught.value)
