"""Models by the names that parameters use: their parts, sources and options."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from planner.models.chat import Message, Request, Role, Speaker
from planner.models.model_choice import (
    ModelChoice,
    RoleModels,
    absolute,
    make_model,
    make_role_models,
    model_forms,
    part_and_source,
)
from planner.models.teacher import ScriptedModel
from planner.parts.option import OptionError
from planner.world.errors import PlannerError


@pytest.mark.parametrize(
    ("model", "found"),
    [
        ("", ("", "")),
        ("local:/m", ("local", "/m")),
        ("org/Model-8B", ("server", "org/Model-8B")),
        ("llama3:8b", ("server", "llama3:8b")),
        ("server:local", ("server", "local")),
        ("local", ("server", "local")),
    ],
)
def test_what_is_no_part_is_a_servers_name(model: str, found: tuple[str, str]) -> None:
    assert part_and_source(model) == found


def test_paths_are_made_absolute_and_names_are_not() -> None:
    assert absolute("scripted:x.txt") == f"scripted:{Path('x.txt').resolve()}"
    assert absolute("llama3:8b") == "llama3:8b"
    assert absolute("") == ""


def test_an_option_of_another_part_is_reported() -> None:
    choice = ModelChoice("scripted:/nowhere", options={"temperature": 1.0})
    with pytest.raises(OptionError, match="temperature: unknown"):
        make_model(choice)
    with pytest.raises(OptionError, match="greater than 10"):
        make_model(ModelChoice("m", "http://127.0.0.1:1/v1", {"temperature": 11.0}))


def test_a_part_without_its_source_is_reported() -> None:
    with pytest.raises(PlannerError, match="expected FOLDER"):
        make_model(ModelChoice("local:"))


def test_the_forms_are_named() -> None:
    assert "local:FOLDER" in model_forms()
    assert "scripted:FILE" in model_forms()


ASK = (Message(Speaker.USER, "What now?"),)
SERVER = '{model: small, url: "http://127.0.0.1:1/v1"}'


def said(model: RoleModels, role: Role) -> str:
    return asyncio.run(model.complete(Request(ASK, role=role))).text


def test_each_role_asks_its_model() -> None:
    big, small = ScriptedModel(["big"] * 3), ScriptedModel(["small"])
    models = RoleModels(big, {Role.VERIFIER: small})
    assert [said(models, role) for role in (Role.PLANNER, Role.VERIFIER, Role.ACTOR)] == [
        "big",
        "small",
        "big",
    ]
    assert models.name == "scripted, verifier scripted"


def test_a_file_makes_equal_models_once(tmp_path: Path) -> None:
    path = tmp_path / "roles.yaml"
    path.write_text(
        f"version: 1\ndefault: {SERVER}\nroles:\n  verifier: {SERVER}\n"
        '  actor: {model: big, url: "http://127.0.0.1:1/v1", options: {temperature: 0.5}}\n'
    )
    made = make_role_models(path)
    assert made.name == "small, verifier small, actor big"
    asyncio.run(made.close())
    model = make_model(ModelChoice(f"roles:{path}"))
    assert model is not None
    assert model.name == made.name


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"default: {SERVER}\nroles: {{judge: {SERVER}}}", "roles.judge"),
        ("default: {model: small}", "default: the parameter model is small, but model_url"),
        (
            f'default: {SERVER}\nroles: {{actor: {{model: "scripted:x"}}}}',
            "roles.actor: scripted:x has scripted replies",
        ),
        (
            'default: {model: "roles:y.yaml"}',
            "default: roles:y.yaml has scripted replies or is by role",
        ),
        (f"roles: {{actor: {SERVER}}}", "default: Field required"),
        (
            'default: {model: m, url: "http://127.0.0.1:1/v1", options: {warmth: 1}}',
            "default: option warmth: unknown",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_before_anything_starts(
    tmp_path: Path, text: str, words: str
) -> None:
    path = tmp_path / "roles.yaml"
    path.write_text(f"version: 1\n{text}\n")
    with pytest.raises(PlannerError, match=words):
        ModelChoice(f"roles:{path}").check()
