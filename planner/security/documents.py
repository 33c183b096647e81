"""Governance and permissions as XML, as DDS Security v1.1 defines it (9.4.1.2 and 9.4.1.3)."""

from __future__ import annotations

from datetime import datetime

from planner.security.policy import Rights

_SCHEMAS = "http://www.omg.org/spec/DDS-SECURITY/20170901"
_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<dds xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"\n'
    '     xsi:noNamespaceSchemaLocation="{schema}">\n'
)
# No participant without keys, everything encrypted, access control for every topic.
_GOVERNANCE = """\
  <domain_access_rules>
    <domain_rule>
      <domains>
        <id>{domain}</id>
      </domains>
      <allow_unauthenticated_participants>false</allow_unauthenticated_participants>
      <enable_join_access_control>true</enable_join_access_control>
      <discovery_protection_kind>ENCRYPT</discovery_protection_kind>
      <liveliness_protection_kind>ENCRYPT</liveliness_protection_kind>
      <rtps_protection_kind>SIGN</rtps_protection_kind>
      <topic_access_rules>
        <topic_rule>
          <topic_expression>*</topic_expression>
          <enable_discovery_protection>true</enable_discovery_protection>
          <enable_liveliness_protection>true</enable_liveliness_protection>
          <enable_read_access_control>true</enable_read_access_control>
          <enable_write_access_control>true</enable_write_access_control>
          <metadata_protection_kind>ENCRYPT</metadata_protection_kind>
          <data_protection_kind>ENCRYPT</data_protection_kind>
        </topic_rule>
      </topic_access_rules>
    </domain_rule>
  </domain_access_rules>
</dds>
"""
_PERMISSIONS = """\
  <permissions>
    <grant name="{enclave}">
      <subject_name>CN={enclave}</subject_name>
      <validity>
        <not_before>{begins}</not_before>
        <not_after>{ends}</not_after>
      </validity>
      <allow_rule>
        <domains>
          <id>{domain}</id>
        </domains>
{criteria}      </allow_rule>
      <default>DENY</default>
    </grant>
  </permissions>
</dds>
"""


def governance(domain: int) -> str:
    """Return the governance document of one ROS domain."""
    schema = f"{_SCHEMAS}/omg_shared_ca_governance.xsd"
    return _HEAD.format(schema=schema) + _GOVERNANCE.format(domain=domain)


def permissions(enclave: str, rights: Rights, domain: int, begins: datetime, ends: datetime) -> str:
    """Return the permissions document of one enclave; anything not granted is denied.

    Args:
        enclave: its path, also the common name of its certificate.
        rights: what it may publish and subscribe.
        domain: the ROS domain.
        begins: start of its certificate's validity, UTC.
        ends: end of its certificate's validity, UTC.
    """
    criteria = _criteria("publish", rights.publish) + _criteria("subscribe", rights.subscribe)
    return _HEAD.format(schema=f"{_SCHEMAS}/omg_shared_ca_permissions.xsd") + _PERMISSIONS.format(
        enclave=enclave,
        begins=_date_time(begins),
        ends=_date_time(ends),
        domain=domain,
        criteria=criteria,
    )


def _criteria(kind: str, patterns: frozenset[str]) -> str:
    if not patterns:
        return ""
    topics = "".join(f"            <topic>{topic}</topic>\n" for topic in sorted(patterns))
    return f"        <{kind}>\n          <topics>\n{topics}          </topics>\n        </{kind}>\n"


def _date_time(moment: datetime) -> str:
    # Without a time zone, as ROS's own tool writes it; it means UTC.
    return moment.replace(tzinfo=None).isoformat(timespec="seconds")
