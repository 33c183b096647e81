"""Policies that drive a body by depth pictures: their space, network and file."""
