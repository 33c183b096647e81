"""The report of one or more bags: what happened, from the bags alone. Needs no ROS."""
