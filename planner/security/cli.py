"""`planner keystore DIR`: creates keys and permissions for robots in a network."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from planner.security.keystore import identities_text, make_keystore
from planner.security.policy import OPERATOR, domain_of, shipped_policy


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the folder, the domain and the days."""
    parser.add_argument("folder", metavar="DIR", type=Path, help="keystore, new or to be extended")
    parser.add_argument(
        "--domain", type=int, metavar="N", help="ROS domain (default: ROS_DOMAIN_ID, or 0)"
    )
    parser.add_argument(
        "--days", type=int, default=3650, help="validity of new certificates (default: 3650)"
    )


def run(args: argparse.Namespace) -> int:
    """Create or complete the keystore and print what changed."""
    folder: Path = args.folder.absolute()
    domain = domain_of(os.environ) if args.domain is None else args.domain
    made = make_keystore(folder, shipped_policy(), domain=domain, days=args.days)
    if made.new_keys:
        print(f"new keys: {identities_text(made.new_keys)}")
    if made.renewed:
        print(f"new certificates: {identities_text(made.renewed)}")
    print(f"{folder}: {len(made.identities)} identities for ROS domain {domain}, for each machine:")
    print("  export ROS_SECURITY_ENABLE=true ROS_SECURITY_STRATEGY=Enforce")
    print(f"  export ROS_SECURITY_KEYSTORE={folder}")
    print(
        f"private/ can create further keys and enclaves/planner/{OPERATOR} commands robots: "
        "keep them off the robots (docs/setup.md)"
    )
    return 0
