"""The files in `deploy/`: what they name exists, and every setting of the server is in the example and in the docs."""

from __future__ import annotations

import itertools
import json
import re
import shlex
import shutil
import subprocess
import tomllib
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest
import typer
import yaml

from fabula.cli.main import make_app
from fabula.cli.serve import OTHER_VARIABLES, OWN_VARIABLES
from fabula.core.errors import FabulaError
from fabula.settings.file import read_settings_file
from fabula.settings.registry import SETTINGS

ROOT = Path(__file__).parent.parent
DEPLOY = ROOT / "deploy"
OWN = {*OWN_VARIABLES, *OTHER_VARIABLES}
OF_COMMANDS = {"FABULA_LANGUAGE", "FABULA_PASSWORD", "FABULA_PROGRESS"}  # which the server does not read
VARIABLES = OWN | {one.variable for one in SETTINGS.values() if "machine" in one.scopes}


def check_command(words: list[str]) -> None:
    """Refuse a command or an option that there is not."""
    root = typer.main.get_command(make_app())
    assert words[0] == "fabula"
    command = root
    rest = words[1:]
    while rest and not rest[0].startswith("-"):
        assert isinstance(command, typer.core.TyperGroup)
        command = command.commands[rest.pop(0)]
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in rest if word.startswith("-")} <= known


def read_dockerfile() -> list[tuple[str, str]]:
    text = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.partition(" ")[0], line.partition(" ")[2]) for line in lines]


def test_the_dockerfile_names_files_variables_and_commands_that_exist() -> None:
    steps = read_dockerfile()
    assert steps[0][0] == "FROM"
    kinds = {"FROM", "RUN", "COPY", "USER", "ENV", "VOLUME", "EXPOSE", "HEALTHCHECK", "STOPSIGNAL", "CMD"}
    assert {kind for kind, _ in steps} <= kinds
    for kind, words in steps:
        if kind == "COPY" and not words.startswith("--from"):
            *sources, _ = words.split()
            assert all((ROOT / source).exists() for source in sources)
        if kind == "ENV":
            assert {word.partition("=")[0] for word in words.split()} <= VARIABLES
        if kind == "CMD":
            check_command(json.loads(words))
    assert ("USER", "fabula") in steps


def test_the_image_builds_the_page_which_is_in_no_clone() -> None:
    steps = read_dockerfile()
    stages = [words for kind, words in steps if kind == "FROM"]
    assert stages == ["python:3.11-slim AS server", "node:20-slim AS page", "server"]
    built = ("RUN", "cd /build/web && npm run -s types && npm run -s build")
    taken = ("COPY", "--from=page /build/src/fabula/page /build/src/fabula/page")
    installed = next(step for step in steps if step[0] == "RUN" and "--no-build-isolation /build" in step[1])
    order = [steps.index(one) for one in (("FROM", stages[1]), built, ("FROM", stages[2]), taken, installed)]
    assert order == sorted(order)
    assert 'outDir: "../src/fabula/page"' in (ROOT / "web" / "vite.config.ts").read_text()


def test_docker_is_sent_what_the_image_copies_and_no_more() -> None:
    lines = [one for one in (ROOT / ".dockerignore").read_text().splitlines() if not one.startswith("#")]
    assert lines[0] == "*"
    sent = {one.removeprefix("!") for one in lines if one.startswith("!")}
    copied = [words.split()[:-1] for kind, words in read_dockerfile() if kind == "COPY" and "--from" not in words]
    assert {source.partition("/")[0] for sources in copied for source in sources} == sent
    assert {"src/fabula/page", "web/node_modules"} <= set(lines)  # what was built on this machine


def test_the_image_installs_what_the_server_needs_and_nothing_for_tests() -> None:
    text = (ROOT / "requirements-server.lock").read_text()
    locked = set(re.findall(r"^([\w.-]+)==", text, re.MULTILINE))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [project["optional-dependencies"][one] for one in ("mcp", "models", "otel", "postgres")]
    needed = {re.split(r"[\[>=;]", one)[0] for one in [*project["dependencies"], *itertools.chain(*extras)]}
    assert needed - locked == set()
    development = (ROOT / "requirements.in").read_text().splitlines()
    others = {re.split(r"[\[=]", one)[0] for one in development if not one.startswith("#")} - needed - {"hatchling"}
    assert "pytest" in others
    assert others & locked == set()
    assert all("--hash=sha256:" in one for one in re.split(r"^(?=[\w.-]+==)", text, flags=re.MULTILINE) if one.strip())
    assert "://" not in text
    steps = [words for kind, words in read_dockerfile() if kind == "RUN" and "pip install" in words]
    assert "--require-hashes -r /build/requirements-server.lock" in steps[0]


def test_the_compose_file_runs_two_replicas_and_the_jobs_on_postgresql_behind_nginx() -> None:
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    assert set(services) == {"postgres", "fabula-1", "fabula-2", "jobs", "nginx"}
    for name in ("fabula-1", "fabula-2", "jobs"):
        service = services[name]
        check_command(list(service["command"]))
        assert set(service["environment"]) <= VARIABLES
        assert service["environment"]["FABULA_STORE"].startswith("postgresql://")
        assert {"fabula-1", "fabula-2"} <= set(service["environment"]["FABULA_HOSTS"].split(","))  # for Prometheus
        assert (DEPLOY / service["env_file"]).exists()
        assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).exists()
    passwords = [services["postgres"]["environment"]["POSTGRES_PASSWORD"], service["environment"]["FABULA_STORE"]]
    assert all("${POSTGRES_PASSWORD:?" in one for one in passwords)  # an empty one is refused
    for volume in services["nginx"]["volumes"]:
        assert (DEPLOY / volume.partition(":")[0]).exists()


def test_the_replicas_trust_nginx_alone_which_says_who_asks_and_how() -> None:
    composed = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    (network,) = composed["networks"]["default"]["ipam"]["config"]
    address = composed["services"]["nginx"]["networks"]["default"]["ipv4_address"]
    assert ip_address(address) in ip_network(network["subnet"])
    assert ip_address(address) not in ip_network(network["ip_range"])  # no other container is given it
    for name in ("fabula-1", "fabula-2"):
        assert composed["services"][name]["environment"]["FABULA_TRUSTED_PROXIES"] == address
    text = (DEPLOY / "nginx.conf").read_text()
    assert "proxy_set_header X-Forwarded-For $remote_addr;" in text
    assert "proxy_set_header X-Forwarded-Proto $scheme;" in text


def test_nginx_sends_a_project_to_one_replica_and_does_not_hold_streams_back() -> None:
    text = re.sub(r"#.*", "", (DEPLOY / "nginx.conf").read_text())
    assert text.count("{") == text.count("}")
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    replicas = set(re.findall(r"server ([\w-]+):8600", text))
    assert replicas == {name for name in services if name.startswith("fabula-")}
    assert "hash $project consistent;" in text
    assert "proxy_buffering off;" in text
    pattern = re.search(r"~(\^/api/projects/\S+) \$name;", text)
    assert pattern is not None
    found = re.match(pattern[1].replace("?<", "?P<"), "/api/projects/abc/assemble")
    assert found is not None
    assert found["name"] == "abc"
    maps = dict(re.findall(r"map (\S+) (\S+) {", text))
    assert maps == {"$http_fabula_project": "$named_by_header", "$uri": "$project"}
    assert re.findall(r"default (\S+);", text) == ["$http_fabula_project", "$named_by_header"]
    assert '"" $remote_addr;' in text


@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed")
def test_nginx_reads_its_file(tmp_path: Path) -> None:
    text = (DEPLOY / "nginx.conf").read_text()
    text = re.sub(r"fabula-\d:8600", "127.0.0.1:8600", text)
    (tmp_path / "nginx.conf").write_text(f"pid {tmp_path}/nginx.pid;\n{text}")
    done = subprocess.run(
        ["nginx", "-t", "-c", str(tmp_path / "nginx.conf")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_unit_of_systemd_names_a_command_and_a_file_that_exist() -> None:
    text = (DEPLOY / "fabula.service").read_text()
    started = re.search(r"^ExecStart=/usr/bin/env (.+)$", text, re.MULTILINE)
    assert started is not None
    check_command(shlex.split(started[1]))
    assert "KillMode=mixed" in text  # the supervisor ends the processes
    assert "EnvironmentFile=-/etc/fabula.env" in text
    assert "LimitNOFILE=65536" in text
    for kind, folder in (("State", "/var/lib"), ("Cache", "/var/cache")):  # the rest of the system is read-only
        (name,) = re.findall(rf"^{kind}Directory=(\w+)$", text, re.MULTILINE)
        assert f"={folder}/{name}\n" in text
    assert set(re.findall(r"^Environment=(\w+)=", text, re.MULTILINE)) <= VARIABLES


def test_every_setting_of_the_server_is_in_the_example_file_and_in_the_docs(tmp_path: Path) -> None:
    text = (DEPLOY / "fabula.env").read_text()
    listed = set(re.findall(r"^#?(FABULA_\w+)=", text, re.MULTILINE))
    assert listed == VARIABLES
    docs = (ROOT / "docs" / "settings.md").read_text() + (ROOT / "docs" / "operations.md").read_text()
    assert [name for name in sorted(VARIABLES) if f"`{name}`" not in docs] == []
    (tmp_path / "all.env").write_text(re.sub(r"^#(FABULA)", r"\1", text, flags=re.MULTILINE))
    assert set(read_settings_file(tmp_path / "all.env", OWN)) == VARIABLES


def test_every_variable_that_the_program_reads_is_known() -> None:
    texts = [path.read_text("utf-8") for path in (ROOT / "src" / "fabula").rglob("*.py")]
    read = {name for text in texts for name in re.findall(r"\"(FABULA_[A-Z_]+)\"", text)}
    assert read == VARIABLES | OF_COMMANDS


@pytest.mark.parametrize("line", ["FABULA_PROT=1", "FABULA_PORT", "export FABULA_PORT=1", "PATH=/tmp"])
def test_a_line_that_is_no_setting_is_refused_with_the_nearest_name(tmp_path: Path, line: str) -> None:
    (tmp_path / "bad.env").write_text(f"# a comment\n\n{line}\n")
    with pytest.raises(FabulaError, match="Line 3") as refused:
        read_settings_file(tmp_path / "bad.env", OWN)
    assert "FABULA_PORT" in refused.value.sentence or line.startswith("PATH")
