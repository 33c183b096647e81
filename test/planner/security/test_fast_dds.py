"""The keystore before a Fast DDS with security, where one is installed: what it lets pass.

Debian and Ubuntu have one (`apt install libfastrtps-dev`); it need not be that of ROS.
PLANNER_FAST_DDS names another prefix than /usr, such as that of unpacked packages.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from planner.security.keystore import make_keystore
from planner.security.policy import OPERATOR, allows, shipped_policy

pytest.importorskip("cryptography", reason="keys are made with the extra security")
PREFIX = Path(os.environ.get("PLANNER_FAST_DDS", "/usr"))
SOURCE = Path(__file__).with_name("dds_peer.cpp")
# Out of the way of tests with ROS, which take one of 1 to 101.
DOMAIN = 110
pytestmark = pytest.mark.timeout(120)
# Until participants of one machine know each other; who is let in is found within 1 s.
FIND_S = 5.0
CLAIM = "rq/agent_0/claimRequest"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    configurations = sorted(PREFIX.glob("include/**/fastrtps/config.h"))
    if not configurations or shutil.which("g++") is None:
        pytest.skip(f"no Fast DDS 2 to compile against in {PREFIX} (apt: libfastrtps-dev)")
    if "HAVE_SECURITY 1" not in configurations[0].read_text():
        pytest.skip(f"the Fast DDS in {PREFIX} was built without security")
    libraries = next(iter(sorted(PREFIX.glob("lib/**/libfastrtps.so")))).parent
    built = tmp_path_factory.mktemp("peer") / "dds_peer"
    includes = (f"-I{PREFIX / 'include'}", f"-I{configurations[0].parents[1]}")
    links = (f"-L{libraries}", "-lfastrtps", "-lfastcdr", f"-Wl,-rpath,{libraries}")
    # Libraries of unpacked packages name others that lie beside them.
    words = ("g++", "-std=c++14", "-O0", *includes, str(SOURCE), "-o", str(built), *links)
    done = subprocess.run(
        [*words, "-Wl,--allow-shlib-undefined"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return built


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Ours, and one of somebody else with the same names."""
    found = []
    for name in ("ours", "theirs"):
        folder = tmp_path_factory.mktemp("keys") / name
        make_keystore(folder, shipped_policy(), domain=DOMAIN, days=10)
        found.append(folder / "enclaves/planner")
    return found[0], found[1]


class Peer:
    """A participant that does as it is told."""

    def __init__(self, program: Path, enclave: Path | str, domain: int = DOMAIN) -> None:
        libraries = ":".join(str(path.parent) for path in PREFIX.glob("lib/**/libfastrtps.so"))
        self._process = subprocess.Popen(
            [str(program), str(enclave), str(domain)],
            env={**os.environ, "LD_LIBRARY_PATH": libraries},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.joined = self._answer() == "joined"

    def ask(self, *orders: str) -> list[str]:
        assert self._process.stdin is not None
        answers = []
        for order in orders:
            self._process.stdin.write(f"{order}\n")
            self._process.stdin.flush()
            answers.append(self._answer())
        return answers

    def _answer(self) -> str:
        assert self._process.stdout is not None
        answer = self._process.stdout.readline().strip()
        assert answer, "the participant has ended"
        return answer

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def bridge(program: Path, stores: tuple[Path, Path]) -> Iterator[Peer]:
    """Who listens for `claim`."""
    made = Peer(program, stores[0] / "bridge")
    assert made.ask(f"hear {CLAIM}") == ["allowed"]
    yield made
    made.close()


def topics() -> list[str]:
    """One of each kind that any identity may write or read, and some that none may."""
    patterns = {
        pattern
        for rights in shipped_policy().rights.values()
        for pattern in rights.publish | rights.subscribe
    }
    made = {pattern.replace("?", "0").replace("*", "some/thing") for pattern in patterns}
    return sorted(made | {"rt/agent_0/cmd_vel", "rq/agent_10/claimRequest", "rt/x", "claim"})


@pytest.mark.parametrize("name", sorted(shipped_policy().identities))
def test_it_takes_every_enclave_and_allows_what_the_policy_allows(
    name: str, program: Path, stores: tuple[Path, Path]
) -> None:
    peer = Peer(program, stores[0] / name)
    try:
        assert peer.joined
        rights = shipped_policy().rights[name]
        for topic in topics():
            assert peer.ask(f"pub {topic}", f"sub {topic}") == [
                "allowed" if allows(patterns, topic) else "refused"
                for patterns in (rights.publish, rights.subscribe)
            ], topic
    finally:
        peer.close()


def test_the_operator_s_claim_arrives(
    program: Path, stores: tuple[Path, Path], bridge: Peer
) -> None:
    operator = Peer(program, stores[0] / OPERATOR)
    try:
        assert operator.ask(f"send {CLAIM} {FIND_S}") == ["1"]
        (heard,) = bridge.ask("heard")
        assert int(heard) > 0
    finally:
        operator.close()


@pytest.mark.parametrize("name", ["viewer", "task_planner", "skill_executor", "tour"])
def test_the_claim_of_another_identity_is_refused(
    name: str, program: Path, stores: tuple[Path, Path], bridge: Peer
) -> None:
    peer = Peer(program, stores[0] / name)
    try:
        assert peer.ask(f"send {CLAIM} {FIND_S}", "pub rq/agent_0/stopRequest") == [
            "refused",
            "allowed",
        ]
        assert bridge.ask("heard") == ["0"]
    finally:
        peer.close()


def test_a_stranger_reaches_nobody(program: Path, stores: tuple[Path, Path], bridge: Peer) -> None:
    strangers = {"without keys": "-", "with keys of another authority": stores[1] / OPERATOR}
    for which, enclave in strangers.items():
        stranger = Peer(program, enclave)
        try:
            assert stranger.ask(f"send {CLAIM} {FIND_S}") == ["0"], which
        finally:
            stranger.close()
    assert bridge.ask("heard") == ["0"]


def test_permissions_of_another_domain_allow_nothing(
    program: Path, stores: tuple[Path, Path]
) -> None:
    peer = Peer(program, stores[0] / OPERATOR, DOMAIN + 1)
    try:
        # Whether it may join differs between versions.
        may = peer.ask(f"pub {CLAIM}", "sub rt/tf") if peer.joined else ["refused", "refused"]
        assert may == ["refused", "refused"]
    finally:
        peer.close()


def test_permissions_that_somebody_wrote_again_let_nobody_in(
    program: Path, stores: tuple[Path, Path], tmp_path: Path
) -> None:
    """The narrator's, with the operator's request, by who has no key of the authority."""
    forged = tmp_path / "narrator"
    shutil.copytree(stores[0] / "narrator", forged)
    signed = forged / "permissions.p7s"
    text = signed.read_bytes()
    signed.write_bytes(text.replace(b"rq/agent_?/stopRequest", b"rq/agent_?/claimRequest"))
    assert signed.read_bytes() != text
    peer = Peer(program, forged)
    try:
        assert not peer.joined
    finally:
        peer.close()
