"""What an operator does with a running stack: services, heartbeats, approvals."""
