"""What the roles' prompts say of the world that the team is in."""

from __future__ import annotations

from planner.world.record import record


@record
class Setting:
    """Sentences of the system messages.

    Attributes:
        place: where the team is.
        seeing: what the robots see.
        advice: notes for who chooses actions, one a line.
        remedies: why actions fail there and what helps, one a line.
    """

    place: str
    seeing: str
    advice: str
    remedies: str


HOME = Setting(
    place="in a home",
    seeing=(
        "The robots see only what is in front of them. More things than are listed may be in the "
        "house, and some have to be found first."
    ),
    advice="""\
- A robot holds one thing at a time.
- To see a thing is not to be close enough to it: navigate to it before anything else is done \
with it.
- Where a thing was not seen yet, look for it in all directions and in other places.
- Close what you opened before you leave it. Open doors may block paths, so open only what has \
to be.""",
    remedies="""\
- The robot is too far from the thing or does not see it: navigate to the thing first.
- The furniture is closed: open it before putting something into it or taking something out.
- No path was found: turn or move, then try again from there.
- Another robot stands in the way: that robot moves away, or this one waits.
- Two robots did the same at once: one of them does something else.
- The action was not needed, because its result was there already: go on with the subtask.""",
)
RESCUE = Setting(
    place="in a search and rescue task on a grid of 30 by 30 cells",
    seeing=(
        "The robots see all fires, reservoirs and deposits from everywhere. A lost person is seen "
        "by all once a robot was near, and has to be found first."
    ),
    advice="""\
- A chemical fire needs sand, any other fire water; the wrong one is used up for nothing.
- A fire spreads from cells of medium and high heat. One unit lowers the heat of the cells around \
the robot by one level, so navigate to a burning region before you use supplies.
- A robot has room for three units. Get them at a reservoir, to which it has to navigate first.
- Explore to find lost persons.
- At least two robots carry a person: all navigate to the person, carry, navigate to the deposit, \
and drop off in the same step. A robot that carries somebody can do nothing else.""",
    remedies="""\
- The robot is too far away: navigate to the fire's region, reservoir, deposit or person first.
- Nobody has seen the person yet: explore.
- The robot has no sand or water left: navigate to a reservoir and get some.
- The robot has no room: use supplies, or clear the inventory.
- The supply does not fit the fire: get the other one.
- Not all who carry the person dropped off: they all do so in the same step at the deposit.
- The robot carries a person: bring the person to the deposit first.""",
)
