"""Quality of service by purpose, so that both ends of a topic agree on what it is for.

Publishers offer what the strictest usual subscriber asks for, and subscribers ask for no more
than they need: every pair of these profiles matches, and so do rviz, bags and other people's
nodes.
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


# Offered with images and their camera_info. Reliable, because viewers often insist on it; a
# short history, because an old picture is worth nothing and a slow reader must not hold up the
# writer.
IMAGE = _profile(5)

# Asked for by whoever looks through a camera: matches reliable and best-effort publishers, and
# a frame that is late is skipped.
IMAGE_INPUT = _profile(2, ReliabilityPolicy.BEST_EFFORT)

# Odometry, joint states, progress: offered deep enough that a recorder that a busy machine kept
# from hearing for a moment still gets all of it.
STATE = _profile(1000)

# As STATE, for a reader that needs only the newest.
STATE_INPUT = _profile(1, ReliabilityPolicy.BEST_EFFORT)

# The newest message stands until the next one, for those who join late too: snapshots, safety
# state, battery, results.
LATCHED = _profile(1, durability=DurabilityPolicy.TRANSIENT_LOCAL)

# Ground truth: latched, and deep enough that who is busy for a moment misses no state: a fast
# world makes 600 a second. A late joiner who asks for one message gets the newest.
TRUTH = _profile(1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)

# As TRUTH, for a judge: so many states wait for it while it is busy.
TRUTH_INPUT = _profile(4000, durability=DurabilityPolicy.TRANSIENT_LOCAL)

# Streams in which every message counts: memory updates, traces, ground truth.
EVENTS = _profile(100)

# As EVENTS, for a reader that needs the beginning as well, which a latching writer keeps.
EVENTS_FROM_START = _profile(100, durability=DurabilityPolicy.TRANSIENT_LOCAL)

# tf2's own convention for /tf and /tf_static.
TF = _profile(1000)
TF_STATIC = _profile(1, durability=DurabilityPolicy.TRANSIENT_LOCAL)

# For nodes only the newest time matters, and they ask for no more; a recorder wants every one.
CLOCK = _profile(1000)

# Goals and questions for results: as many as may come at once, each of which gets an answer. The
# middleware's own ten lose the rest in silence.
REQUESTS = _profile(1000)

# An executive says ten times a second that it is there. Both ends name the same deadline and the
# same lease, after which the middleware tells of the silence; what nobody sends asserts nothing.
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

# As HEARTBEAT, for a reader: with a depth of one, two executives in step would hide each other.
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
