"""Pictures to their compressed form, both serialised, with image_transport's topic names."""

from __future__ import annotations

from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import CompressedImage, Image

from planner.ros.images import depth_array, rgb_array
from planner.world.picture_codec import COLOUR_FORMAT, DEPTH_FORMAT, encode_colour, encode_depth

IMAGE, COMPRESSED_IMAGE = "sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage"
# What comes after the name of the picture's topic.
COLOUR_SUFFIX, DEPTH_SUFFIX = "/compressed", "/compressedDepth"
_SUFFIXES = {
    "rgb8": COLOUR_SUFFIX,
    "bgr8": COLOUR_SUFFIX,
    "32FC1": DEPTH_SUFFIX,
    "16UC1": DEPTH_SUFFIX,
}


def compressed(data: bytes) -> tuple[str, bytes]:
    """The end of the topic's name and the message in its compressed form.

    Args:
        data: a serialised sensor_msgs/Image.

    Returns:
        "" and the same data for pictures that have no compressed form, such as instance ids.

    Raises:
        PlannerError: where the data do not fill the picture.
    """
    message: Image = deserialize_message(data, Image)
    suffix = _SUFFIXES.get(message.encoding, "")
    if not suffix:
        return "", data
    if suffix == COLOUR_SUFFIX:
        packed, kind = encode_colour(rgb_array(message)), COLOUR_FORMAT
    else:
        packed, kind = encode_depth(depth_array(message)), DEPTH_FORMAT
    result = CompressedImage(header=message.header, format=kind, data=packed)
    return suffix, serialize_message(result)
