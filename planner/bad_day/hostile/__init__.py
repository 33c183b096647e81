"""Hostile inputs to every topic, service, action and parameter of a running stack."""
