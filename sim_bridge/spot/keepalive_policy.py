"""What the robot does by itself when the bridge falls silent (rule 3)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from bosdyn.client.keepalive import InvalidPolicyError, Policy

from sim_bridge.safety.options import SafetyOptions

Call = Callable[[Callable[[], Any]], Any]


class KeepalivePolicy:
    """The only policy of a connection, associated with its lease.

    If an answer is lost, it is unknown whether the robot has the policy. A policy without check-ins
    switches the motors off, again whenever they are switched on.
    """

    def __init__(
        self, name: str, owner: str, client: Any, call: Call, safety: SafetyOptions
    ) -> None:
        """Starts without a policy.

        Args:
            name: of the policy.
            owner: the name by which the robot knows this connection.
            client: the SDK's `KeepaliveClient`.
            call: makes a call to it.
            safety: the times.
        """
        self._name, self._owner, self._client, self._call = name, owner, client, call
        self._safety, self._timeout_s = safety, safety.timeouts.lease_s
        self._number: int | None = None
        # Whether the robot may have a policy with unknown number.
        self._stray = False

    def tie(self, lease: Any) -> None:
        """Adds a policy for this lease, replacing all earlier ones of ours.

        Raises:
            Error: of the SDK, if it is not known to be there.
        """
        policy, limits = Policy(), self._safety.keepalive
        policy.name = self._name
        policy.add_record_event_action([], limits.warn_after_s)
        policy.add_controlled_motors_off_action(limits.motors_off_after_s)
        policy.add_associated_lease(lease)
        old = self._strays() if self._stray else []
        self._stray = True
        added = self._call(
            lambda: self._client.modify_policy(
                to_add=policy, policy_ids_to_remove=old, timeout=self._timeout_s
            )
        )
        self._number, self._stray = added.added_policy.policy_id, False

    def _strays(self) -> list[int]:
        response = self._call(lambda: self._client.get_status(timeout=self._timeout_s))
        return [each.policy_id for each in response.status if each.client_name == self._owner]

    def check_in(self, lease: Any) -> None:
        """Checks in; adds another policy if the robot has none of ours.

        Raises:
            Error: of the SDK.
        """
        number = self._number
        if number is None:
            self.tie(lease)
            return
        try:
            self._call(lambda: self._client.check_in(number, timeout=self._timeout_s))
        except InvalidPolicyError:
            self._number = None
            self.tie(lease)

    def remove(self) -> None:
        """Removes the policy, if there is one.

        Raises:
            Error: of the SDK, if it may still be there: then it needs check-ins.
        """
        number = self._number
        if number is None:
            return
        # Unknown to the robot if an earlier request was executed and its answer lost.
        with suppress(InvalidPolicyError):
            self._call(
                lambda: self._client.modify_policy(
                    policy_ids_to_remove=[number], timeout=self._timeout_s
                )
            )
        self._number = None
