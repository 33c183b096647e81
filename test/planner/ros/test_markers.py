"""What viewers draw: the floor's map, the house, things with their source, ways."""

from dataclasses import replace

from visualization_msgs.msg import Marker, MarkerArray

from planner.ros.markers import BeliefMarkers, floor_map, house_markers
from planner.world.belief import Belief, BeliefNode, Source
from planner.world.floor_map import FREE, OCCUPIED
from planner.world.house import House
from planner.world.vocabulary import EntityKind

CUP = BeliefNode("cup_0", EntityKind.OBJECT, "cup", 131, (2.2, 3.2, 0.8), source=Source.SEEN)
ROBOT = BeliefNode("agent_0", EntityKind.AGENT, "robot", None, (1.5, 2.0, 0.0), hands=("cup_0",))


def belief(*nodes: BeliefNode) -> Belief:
    return Belief(3.5, 1, {node.name: node for node in nodes})


def of(array: MarkerArray, namespace: str) -> list[Marker]:
    return [marker for marker in array.markers if marker.ns == namespace]


def test_the_map_is_free_where_one_can_stand_and_occupied_at_furniture(small_house: House) -> None:
    message = floor_map(2.0, small_house)
    info = message.info
    assert len(message.data) == info.width * info.height
    assert set(message.data) == {FREE, OCCUPIED}
    assert message.header.frame_id == "map"
    for piece in small_house.furniture:
        column = int((piece.x_m - info.origin.position.x) / info.resolution)
        row = int((piece.y_m - info.origin.position.y) / info.resolution)
        assert message.data[row * info.width + column] == OCCUPIED, piece.name


def test_every_room_and_piece_of_furniture_is_drawn_with_its_name(small_house: House) -> None:
    array = house_markers(2.0, small_house)
    assert [m.text for m in of(array, "room names")] == [room.name for room in small_house.rooms]
    boxes = of(array, "furniture")
    assert len(boxes) == len(of(array, "furniture names")) == len(small_house.furniture)
    assert [round(box.scale.z, 3) for box in boxes] == [
        round(piece.size_m[2], 3) for piece in small_house.furniture
    ]
    keys = [(marker.ns, marker.id) for marker in array.markers[1:]]
    assert len(keys) == len(set(keys))


def test_things_show_where_they_are_and_how_they_are_known() -> None:
    markers = BeliefMarkers()
    (box,) = of(markers.message(belief(CUP)), "things")
    assert (box.pose.position.x, box.scale.x > 0) == (2.2, True)
    seen = (box.color.r, box.color.g)
    (told,) = of(markers.message(belief(replace(CUP, source=Source.TOLD))), "things")
    assert (told.color.r, told.color.g) != seen
    assert told.id == box.id
    (name,) = of(markers.message(belief(CUP)), "thing names")
    assert name.text == "cup_0 (131)"
    # What is forgotten disappears: every picture begins by deleting the last one.
    empty = markers.message(belief())
    assert [marker.action for marker in empty.markers] == [Marker.DELETEALL]


def test_agents_leave_a_way_and_say_what_they_hold() -> None:
    markers = BeliefMarkers()
    for x in (1.5, 1.55, 1.9, 2.5):
        array = markers.message(belief(replace(ROBOT, position_m=(x, 2.0, 0.0))))
    (way,) = of(array, "ways")
    assert [round(point.x, 2) for point in way.points] == [1.5, 1.9, 2.5]
    (name,) = of(array, "agent names")
    assert name.text == "agent_0, holds cup_0"
    markers.forget()
    assert not of(markers.message(belief(ROBOT)), "ways")
