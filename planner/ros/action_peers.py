"""Clients and servers of an action, by their DDS names (planner.ros.presence)."""

from __future__ import annotations

import os

from rclpy.node import Node

from planner.ros.presence import Peers, is_of_process, surely_gone

# Wall seconds until an unaccepted goal counts as lost. The middleware lists a killed server for a
# while and routes goals to it; its successor only gets later ones.
ACCEPT_TIMEOUT_S = 15.0
DOUBTFUL_ACCEPT_TIMEOUT_S = 2.0


def accept_timeout_s(servers: Peers | None) -> float:
    """Timeout for these servers to accept a goal, wall seconds."""
    doubtful = servers is not None and servers.doubtful
    return DOUBTFUL_ACCEPT_TIMEOUT_S if doubtful else ACCEPT_TIMEOUT_S


class ActionPeers:
    """Tracks the clients and servers of one action, for the client or server in this process."""

    def __init__(self, node: Node, action: str) -> None:
        """`action`: the name as used by the node, such as agent_0/skill."""
        self._node = node
        # DDS knows only full names.
        self._service = node.resolve_service_name(f"{action}/_action/send_goal")

    def client(self, gid: bytes) -> Peers:
        """The one client whose participant has this GUID; it may be dead by now."""
        return Peers([gid], self._own_gid(), what="client", gone=surely_gone)

    def no_client(self) -> str:
        """Why no client can be waiting; "" if one may be."""
        left = self._node.count_clients(self._service)
        return "" if left else "no client of this action is left"

    def clients(self) -> Peers:
        """The current clients."""
        return Peers(self._requesters(), self._own_gid(), what="client")

    def lost_client(self, peers: Peers) -> str:
        """Why one of these clients counts as lost; "" if none is."""
        return peers.lost(self._requesters(), self._node.count_clients(self._service))

    def servers(self) -> Peers:
        """The current servers."""
        return Peers(self._repliers(), self._own_gid(), what="server", endpoints=True)

    def takers(self) -> Peers:
        """The servers, one of which has just accepted a goal."""
        servers = self.servers()
        servers.settle()
        return servers

    def lost_server(self, peers: Peers) -> str:
        """Why one of these servers counts as lost; "" if none is."""
        return peers.lost(self._repliers(), self._node.count_services(self._service))

    # By DDS names of requests and replies: rclpy only counts endpoints.

    def _requesters(self) -> list[bytes]:
        return self._gids(f"rq{self._service}Request")

    def _repliers(self) -> list[bytes]:
        return self._gids(f"rr{self._service}Reply")

    def _gids(self, topic: str) -> list[bytes]:
        writers = self._node.get_publishers_info_by_topic(topic, no_mangle=True)
        return [bytes(writer.endpoint_gid) for writer in writers]

    def _own_gid(self) -> bytes | None:
        """This process's GUID; None where GUIDs carry no process ids."""
        for gid in (*self._repliers(), *self._requesters()):
            if is_of_process(gid, os.getpid()):
                return gid
        return None
