"""Quality of service by purpose, so that both ends of a topic agree.

Publishers offer what the strictest usual subscriber requests, and subscribers request no more than
they need: all pairs of these profiles match, and so do rviz, bags and other people's nodes.
"""

from rclpy.duration import Duration
from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    LivelinessPolicy,
    QoSProfile,
    ReliabilityPolicy,
)


def _profile(
    depth: int,
    reliability: ReliabilityPolicy = ReliabilityPolicy.RELIABLE,
    durability: DurabilityPolicy = DurabilityPolicy.VOLATILE,
) -> QoSProfile:
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=depth,
        reliability=reliability,
        durability=durability,
    )


# Offered with images and their camera_info. Reliable, because viewers often require it; a short
# history, because old pictures are useless and a slow reader must not hold up the writer.
IMAGE = _profile(5)

# For readers of cameras: matches reliable and best-effort publishers, and skips late frames.
IMAGE_INPUT = _profile(2, ReliabilityPolicy.BEST_EFFORT)

# Odometry, joint states, progress: deep enough that a recorder delayed by a busy machine still
# receives everything.
STATE = _profile(1000)

# As STATE, for a reader that needs only the newest.
STATE_INPUT = _profile(1, ReliabilityPolicy.BEST_EFFORT)

# The newest message is kept for late joiners: snapshots, safety state, battery, results.
LATCHED = _profile(1, durability=DurabilityPolicy.TRANSIENT_LOCAL)

# Ground truth: latched, and deep enough that a reader that is busy for a moment misses no state: a
# fast world publishes 600 a second. A late joiner with a depth of one gets the newest.
TRUTH = _profile(1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)

# As TRUTH, for an evaluator: the queue for states that arrive while it is busy.
TRUTH_INPUT = _profile(4000, durability=DurabilityPolicy.TRANSIENT_LOCAL)

# Streams in which every message counts, such as memory updates and traces.
EVENTS = _profile(100)

# As EVENTS, for a reader that also needs the beginning, which a latching writer keeps.
EVENTS_FROM_START = _profile(100, durability=DurabilityPolicy.TRANSIENT_LOCAL)

# tf2's own convention for /tf and /tf_static.
TF = _profile(1000)
TF_STATIC = _profile(1, durability=DurabilityPolicy.TRANSIENT_LOCAL)

# Nodes need only the newest time, and request no more; a recorder needs every one.
CLOCK = _profile(1000)

# Goals and result requests: as many as may arrive at once, each of which gets an answer. Above the
# middleware's default depth of ten they would be lost silently.
REQUESTS = _profile(1000)

# Executives send heartbeats at 10 Hz. Both ends set the same deadline and lease, after which the
# middleware reports the silence; liveliness is manual, so only a message asserts it.
SILENT_AFTER_S = 0.3
HEARTBEAT = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.VOLATILE,
    deadline=Duration(seconds=SILENT_AFTER_S),
    liveliness=LivelinessPolicy.MANUAL_BY_TOPIC,
    liveliness_lease_duration=Duration(seconds=SILENT_AFTER_S),
)

# As HEARTBEAT, for a reader: with a depth of one, two executives in step would hide each
# other.
HEARTBEAT_INPUT = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=64,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.VOLATILE,
    deadline=Duration(seconds=SILENT_AFTER_S),
    liveliness=LivelinessPolicy.MANUAL_BY_TOPIC,
    liveliness_lease_duration=Duration(seconds=SILENT_AFTER_S),
)

DIAGNOSTICS = _profile(50)
