"""Pictures to their compressed form, both serialised, with image_transport's topic names."""

from __future__ import annotations

from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import CompressedImage, Image

from planner.ros.images import depth_array, depth_message, rgb_array, rgb_message
from planner.world.picture_codec import (
    COLOUR_FORMAT,
    DEPTH_FORMAT,
    decode_colour,
    decode_depth,
    encode_colour,
    encode_depth,
)

IMAGE, COMPRESSED_IMAGE = "sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage"
# Suffixes of the picture's topic.
COLOUR_SUFFIX, DEPTH_SUFFIX = "/compressed", "/compressedDepth"
_SUFFIXES = {
    "rgb8": COLOUR_SUFFIX,
    "bgr8": COLOUR_SUFFIX,
    "32FC1": DEPTH_SUFFIX,
    "16UC1": DEPTH_SUFFIX,
}


def compressed(data: bytes) -> tuple[str, bytes]:
    """Compresses a picture; returns the suffix of its topic and the message.

    Args:
        data: a serialised sensor_msgs/Image.

    Returns:
        "" and the same data for pictures that have no compressed form, such as instance ids.

    Raises:
        PlannerError: if the data do not fill the picture.
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


def raw(data: bytes) -> bytes:
    """The raw picture of a compressed one: rgb8, or 16UC1 (millimetres) of a compressed depth.

    Args:
        data: a serialised sensor_msgs/CompressedImage.

    Raises:
        PlannerError: if the data are no such picture.
    """
    message: CompressedImage = deserialize_message(data, CompressedImage)
    if "compressedDepth" in message.format:
        picture = depth_message(message.header, decode_depth(message), "16UC1")
    else:
        picture = rgb_message(message.header, decode_colour(message))
    result: bytes = serialize_message(picture)
    return result
