"""Form of bad days `naps`: nodes of a whole stack stop for a while; nothing else happens."""

from planner.bad_day.faults import Fault
from planner.bad_day.schedule import FormPart, StackTask

FORM = FormPart(
    summary="whole stack, naps",
    faults=((Fault.FREEZE, 1),),
    task=StackTask("night_light_0", 1, after_s=150.0),
)
