"""How the engine runs Jobs: read from the INI file of a submit, kept beside the run for the Pods that follow."""

from __future__ import annotations

import json
from configparser import ConfigParser
from configparser import Error as ConfigError
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from submits.engine.errors import EngineError, Exit

IMAGE = "coordui:latest"
ACCOUNT = "coordui-engine"  # deploy/engine/rbac.yaml
FILE = "engine.json"
EXTERNAL = "external"  # the section of `external.settings`, in the same file


@dataclass(frozen=True, slots=True)
class Settings:
    """Times in seconds. `image` is what every Pod of a run is made from, so that search, merge and formats are of one
    BLAST+; `service_account` is whose power those have that talk to the cluster, "" for the namespace's default one.
    `memory_mib` is what a search needs beside its database.

    How the Pods reach the work store: by `work_claim`, NAME or NAME/DIRECTORY of a volume claim that holds it; by
    `work_secret`, whose keys are their environment, or as `work_account`, where it is an object store. `database_claim`
    likewise holds `database_root`. With none of them a directory is the node's own.

    A batch's Job outlives the finalizer (`blast_ttl` beyond its deadline), so that one which is missing was taken away.
    """

    namespace: str = "default"
    work_url: str = ""
    image: str = IMAGE
    service_account: str = ACCOUNT
    threads: int = 1
    memory_mib: int = 256
    blast_retries: int = 3
    blast_deadline: int = 86_400
    deadline: int = 172_800
    ttl: int = 86_400
    patience: int = 60
    work_claim: str = ""
    work_secret: str = ""
    work_account: str = ""
    database_claim: str = ""
    database_root: str = ""

    @property
    def blast_ttl(self) -> int:
        return self.deadline + 3_600

    def to_json(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @staticmethod
    def from_json(data: bytes) -> Settings:
        """The settings that `to_json` wrote; keys of a newer version are left out."""
        known = {field.name for field in fields(Settings)}
        return Settings(**{key: value for key, value in json.loads(data).items() if key in known})


def _field(section: str, key: str) -> str:
    """The field that a section's key sets."""
    return f"{section}_{key}" if section in ("work", "database") else key


_SECTIONS = {
    "cluster": ("namespace", "service_account"),
    "work": ("url", "claim", "secret", "account"),
    "database": ("claim", "root"),
}
_ELSEWHERE = {_field(section, key) for section, keys in _SECTIONS.items() for key in keys}
_SECTIONS["limits"] = tuple(field.name for field in fields(Settings) if field.name not in _ELSEWHERE)


def read(path: Path) -> Settings:
    """The settings in an INI file; raises EngineError naming the section, key and value that is wrong."""
    parser = ConfigParser(interpolation=None)
    try:
        parser.read_string(path.read_text("utf-8"), str(path))
    except OSError as error:
        raise EngineError(Exit.INPUT, f"{path} cannot be read: {error.strerror}") from error
    except (ConfigError, UnicodeDecodeError) as error:
        raise EngineError(Exit.INPUT, f"{path} is not a configuration file: {error}") from error
    parser.remove_section(EXTERNAL)
    values: dict[str, str | int] = {}
    types = {field.name: field.type for field in fields(Settings)}
    for section in parser.sections():
        for key, text in parser.items(section):
            if key not in _SECTIONS.get(section, ()):
                raise EngineError(Exit.INPUT, f"{path}: [{section}] {key} is not a setting of this engine")
            name = _field(section, key)
            values[name] = _number(path, section, key, text) if types[name] == "int" else text
    if not values.get("work_url"):
        raise EngineError(Exit.INPUT, f"{path}: [work] url is missing")
    return Settings(**values)  # type: ignore[arg-type]  # each value has just been given its field's type


def write(settings: Settings) -> str:
    """The INI text that `read` reads back as the same settings; raises ValueError for a value with a line end."""
    parser = ConfigParser(interpolation=None)
    for section, keys in _SECTIONS.items():
        parser.add_section(section)
        for key in keys:
            value = str(getattr(settings, _field(section, key)))
            if any(char in value for char in "\r\n"):
                raise ValueError(f"[{section}] {key} holds a line end")
            parser.set(section, key, value)
    lines = []
    for section in parser.sections():
        lines.append(f"[{section}]")
        lines += [f"{key} = {value}" for key, value in parser.items(section)]
    return "\n".join(lines) + "\n"


def _number(path: Path, section: str, key: str, text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise EngineError(Exit.INPUT, f"{path}: [{section}] {key} = {text!r} is not a whole number")
    return int(text)
