"""What a program may use, as prompts describe it (HELPER-D40); the wording is our own."""

from __future__ import annotations

PROGRAM_INTERFACE = '''\
class InteractionObject:
    """One physical thing or piece of furniture in the house."""

    def __init__(self, object_class: str, landmark: str = None, attributes: list = []):
        """
        object_class: a category of the list below.
        landmark: the category of what it is on, in or near, if the dialogue says so.
        attributes: the states that it has to end in, of "toasted", "clean" and "cooked".
        Example: mug = InteractionObject("Mug", landmark = "Sink", attributes = ["clean"])
        """

    def go_to(self):
        """Walk up to it. Do this before anything else is done with it.
        Example: mug.go_to()"""

    def pickup(self):
        """Take it into the hand, which has to be empty. Assumes that the robot is at it.
        Example: mug.go_to(); mug.pickup()"""

    def place(self, landmark_name):
        """Put what is in the hand onto or into another InteractionObject. Assumes that this
        object is in the hand and that the robot is at the other one.
        Example: shelf.go_to(); mug.place(shelf)"""

    def slice(self):
        """Cut it into slices. Assumes that a Knife is in the hand and that the robot is at it.
        The slices are new things, such as TomatoSliced.
        Example: knife.go_to(); knife.pickup(); tomato.go_to(); tomato.slice()"""

    def toggle_on(self):
        """Switch it on, if it is off.
        Example: lamp.go_to(); lamp.toggle_on()"""

    def toggle_off(self):
        """Switch it off, if it is on.
        Example: lamp.go_to(); lamp.toggle_off()"""

    def open(self):
        """Open it, if it is closed.
        Example: fridge.go_to(); fridge.open()"""

    def close(self):
        """Close it, if it is open.
        Example: fridge.go_to(); fridge.close()"""

    def clean(self):
        """Wash it in the sink. Assumes that it is in the hand, where it is afterwards, too.
        Example: plate.go_to(); plate.pickup(); plate.clean()"""

    def put_down(self):
        """Put it onto the nearest free place. Assumes that it is in the hand.
        Example: knife.put_down()"""

    def pour(self, landmark_name):
        """Pour what is in it into another InteractionObject. Assumes that it is in the hand
        and filled.
        Example: cup.pour(plant)"""

    def fill_up(self):
        """Fill it with water. Assumes that it is in the hand.
        Example: pot.go_to(); pot.pickup(); pot.fill_up()"""

    def pickup_and_place(self, landmark_name):
        """Walk to it, take it, walk to another InteractionObject and put it there.
        Example: pen.pickup_and_place(desk)"""

    def empty(self):
        """Take everything out of it or off it, for instance because it is full.
        Example: sink.go_to(); sink.empty()"""

    def cook(self):
        """Cook it with a suitable device. Assumes that it is in the hand.
        Example: potato_slice.go_to(); potato_slice.pickup(); potato_slice.cook()"""

    def toast(self):
        """Toast a slice of bread in the toaster. Assumes that it is in the hand.
        Example: bread_slice.go_to(); bread_slice.pickup(); bread_slice.toast()"""
'''

CORRECTIVE_INTERFACE = '''\
class AgentCorrective:
    """Movements of the robot itself, after a failure."""

    def move_back(self):
        """Step back: the robot is too close to what it wants to handle.
        Example: agent = AgentCorrective(); agent.move_back()"""

    def move_closer(self):
        """Step towards it: the robot is too far away.
        Example: agent = AgentCorrective(); agent.move_closer()"""

    def move_alternate_viewpoint(self):
        """Go to another side: something is in the way, or hides what is wanted.
        Example: agent = AgentCorrective(); agent.move_alternate_viewpoint()"""
'''
