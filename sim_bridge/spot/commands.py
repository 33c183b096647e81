"""The subcommands of `planner` about Spot, whose modules are imported when they are called."""

from planner.parts.command import CommandPart

_of = CommandPart.of_module

DEMO = _of("sim_bridge.spot.demo", "four tasks on an emulated Spot, with success rates")
LAYOUT = _of("sim_bridge.spot.layout_cli", "check or draw the layout of a real house")
EMULATOR = _of("sim_bridge.spot.emulator.cli", "an emulated Spot: its protocol, over TLS")
RUN = _of("sim_bridge.spot.run_program", "run a program of the SDK on the emulator")
LOOK = _of(
    "sim_bridge.spot.layout_cli",
    "show the state of a Spot; moves nothing",
    "add_look_arguments",
    "run_look",
)
