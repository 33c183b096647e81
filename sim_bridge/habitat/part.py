"""The record of the backend of Habitat."""

from pathlib import Path

from planner.world.files import read_model
from sim_bridge.backend import Backend, BackendPart, Drawn, OtherPython

# That Python has none of our packages, so the file is run as it is.
_TRIAL = f"import runpy; runpy.run_path({str(Path(__file__).with_name('worker.py'))!r})"


def _make(settings: Path | None) -> Backend:
    return _make_for(settings, Drawn())


def _make_for(settings: Path | None, drawn: Drawn) -> Backend:
    from sim_bridge.habitat.backend import HabitatBackend
    from sim_bridge.habitat.options import HabitatOptions, default_options

    options = default_options() if settings is None else read_model(settings, HabitatOptions)
    return HabitatBackend(options.with_sensors(drawn.sensors))


HABITAT = BackendPart(
    summary="Habitat",
    make=_make,
    make_for=_make_for,
    has_sensors=True,
    simulated=True,
    shows_datasets=True,
    extra="habitat",
    # habitat-sim is on no package index.
    other_python=OtherPython(
        program="habitat-sim",
        module="habitat_sim",
        variable="PLANNER_HABITAT_PYTHON",
        trial=f"{_TRIAL}['draw_once']()",
        environment={"MAGNUM_LOG": "quiet", "HABITAT_SIM_LOG": "quiet"},
        cure="see docs/habitat.md",
    ),
)
