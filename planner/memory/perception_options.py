"""The options of memories that see with depth and a detector."""

from planner.parts.option import Option

DEPTH_MODEL, TRUE_SEGMENTATION = "depth_model", "true_segmentation"
OF_ERRORS = "errors:"
PERCEPTION_OPTIONS = (
    Option(
        DEPTH_MODEL,
        "",
        "folder of a model that estimates depth from colours, or errors:SHARE, which adds smooth "
        "errors of this share to the camera's; empty = the camera's, in a simulator the truth",
    ),
    Option(TRUE_SEGMENTATION, False, "whether things are those of a simulator's instance ids"),
)
