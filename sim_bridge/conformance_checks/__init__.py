"""What `sim_bridge.conformance` asks of every backend, one file a subject."""
