"""`Config`: the settings, from the config file, the environment and the command's options, and where files lie.

Knows neither the library nor the screen. Each setting is declared once, in `Config`; its description is what an error says
is allowed.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import platformdirs
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, ValidationInfo, field_validator

from fireside_tui import toml_edit

PREFIX = "FIRESIDE_"
"""What the environment variables of the settings begin with: `FIRESIDE_MODEL`, `FIRESIDE_STORE` …"""


class ConfigError(ValueError):
    """A setting is wrong; the message says where it stands and what is allowed."""


class Config(BaseModel):
    """The settings of the app and the command line. It does not change; `model_copy(update=…)` gives another one."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    model: str = Field(
        default="", description='the name of a model; "" for the usual one, "demo" for the one without a network'
    )
    system: str = Field(default="", description="the system prompt, as a text")
    effort: Literal["", "low", "medium", "high", "xhigh", "max"] = Field(
        default="", description='"low", "medium", "high", "xhigh" or "max"; "" for the model\'s own'
    )
    thinking: Literal["", "adaptive", "between_tools", "disabled"] = Field(
        default="", description='"adaptive", "between_tools" or "disabled"; "" for the model\'s own'
    )
    max_tokens: int | None = Field(default=None, ge=1, description="the longest answer in tokens, 1 or more")
    base_url: str = Field(default="", description='the address of an API server, "http://…" or "https://…"')
    store: str = Field(default="", description='a folder, "sqlite:///…" or "postgresql://…"')
    save_partial_every: float = Field(
        default=2.0,
        ge=0,
        allow_inf_nan=False,
        description="seconds between saves of an answer that streams; 0 for none",
    )
    tools: bool = Field(default=True, description="true or false: whether the model may call tools")
    always_allow: tuple[str, ...] = Field(
        default=(), description="a list of names of tools that run without being asked about"
    )
    theme: str = Field(default="", description='the name of a theme of the app; "" for the usual one')
    show_thinking: bool = Field(default=False, description="true or false: whether thinking is shown unfolded")

    _source: Path | None = PrivateAttr(None)

    @field_validator("base_url")
    @classmethod
    def _is_address(cls, value: str) -> str:
        if value and not value.startswith(("http://", "https://")):
            raise ValueError("no address")
        return value

    @field_validator("save_partial_every", "max_tokens", "tools", "show_thinking", mode="before")
    @classmethod
    def _keeps_types(cls, value: object, info: ValidationInfo) -> object:
        """In the file `"true"` is no `true` and `true` no number; the environment has nothing but texts."""
        text_allowed = bool(info.context and info.context.get("texts"))
        wants_bool = info.field_name in ("tools", "show_thinking")
        if (isinstance(value, str) and not text_allowed) or (
            not isinstance(value, str) and value is not None and isinstance(value, bool) != wants_bool
        ):
            raise ValueError("another type")
        return value

    @property
    def source(self) -> Path:
        """The config file that these settings came from, and that `save_setting` is to write; it may not exist."""
        return self._source or paths().config_file

    @property
    def place(self) -> str:
        """Where conversations are kept, for `open_store`."""
        if not self.store:
            return str(paths().conversations)
        return self.store if "://" in self.store else os.path.expanduser(self.store)


@dataclass(frozen=True, slots=True)
class Paths:
    """Where the files of this device lie. None of them is made by asking."""

    config_file: Path
    data_dir: Path
    cache_dir: Path

    @property
    def conversations(self) -> Path:
        """The default store."""
        return self.data_dir / "conversations"

    @property
    def device_file(self) -> Path:
        """Drafts, unread marks and pins."""
        return self.data_dir / "device.json"

    def search_index(self, place: str) -> Path:
        """The full-text index of a store; each store has its own."""
        where = place if "://" in place else os.path.realpath(place)
        return self.cache_dir / f"search-{hashlib.sha256(os.fsencode(where)).hexdigest()[:16]}.sqlite"


def paths() -> Paths:
    """Where things lie, as platformdirs and `FIRESIDE_CONFIG` say."""
    dirs = platformdirs.PlatformDirs("fireside", appauthor=False)
    named = os.environ.get(f"{PREFIX}CONFIG")
    file = Path(named).expanduser() if named else Path(dirs.user_config_dir) / "config.toml"
    return Paths(file, Path(dirs.user_data_dir), Path(dirs.user_cache_dir))


def load_config(
    path: Path | None = None,
    *,
    options: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
    despite: list[str] | None = None,
) -> Config:
    """The settings: `options` go before the environment, the environment before the file, the file before the defaults.

    `path` is a config file that has to exist; left out, it is the one of `paths()`, which need not. Options that are
    `None` are not given. Raises `ConfigError`, whose message names the file, the line, the key and what is allowed. With a
    list as `despite`, a file that is there but wrong counts as empty, and the message is put into the list.
    """
    environ = os.environ if environ is None else environ
    must_exist = path is not None or bool(environ.get(f"{PREFIX}CONFIG"))
    file = path if path is not None else paths().config_file
    try:
        from_file = _read(file, must_exist=must_exist)
    except ConfigError as error:
        if despite is None or not os.path.lexists(file):
            raise
        despite.append(str(error))
        from_file = {}
    from_environ = {
        key: value
        for key in Config.model_fields
        if key != "always_allow" and (value := environ.get(PREFIX + key.upper(), ""))
    }
    given = {key: value for key, value in (options or {}).items() if value is not None}
    _check(from_environ, lambda key: f"the environment variable {PREFIX}{key.upper()}", texts=True)
    _check(given, lambda key: f"the option --{key.replace('_', '-')}", texts=True)
    config = Config.model_validate({**from_file, **from_environ, **given}, context={"texts": True})
    config._source = file
    return config


def save_setting(key: str, value: object, path: Path | None = None) -> None:
    """Writes one setting into the config file and leaves all the rest as it is, byte for byte; `None` takes it out.

    `path` is `config.source`. The file is replaced in one go, so it is never half-written. Raises `ConfigError` for a
    wrong key or value or a file that can't be edited, `OSError` as usual.
    """
    file = path if path is not None else paths().config_file
    if value is not None:
        _check({key: value}, lambda _: "the setting")
    elif key not in Config.model_fields:
        raise ConfigError(_unknown(key))
    text = _text(file) or ""
    try:
        edited = toml_edit.with_value(text, key, value)
    except ValueError as error:
        raise ConfigError(f"{file}: {error}") from None
    if edited != text:
        toml_edit.replace_file(file, edited)


def _text(file: Path) -> str | None:
    try:
        return file.read_bytes().decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        line = file.read_bytes()[: error.start].count(b"\n") + 1
        raise ConfigError(f"{file}, line {line}: this is not UTF-8 text") from None
    except OSError as error:
        raise ConfigError(f"{file} can't be read: {error.strerror or error}") from None


def _read(file: Path, *, must_exist: bool) -> dict[str, Any]:
    text = _text(file)
    if text is None:
        if must_exist:
            raise ConfigError(f"there is no config file {file}")
        return {}
    try:
        values = tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        what, _, place = str(error).removesuffix(")").rpartition(" (at ")
        line = place.split(",")[0] if place.startswith("line") else f"line {max(len(text.splitlines()), 1)}"
        raise ConfigError(f"{file}, {line}: this is not TOML: {what}") from None
    _check(values, lambda key: f"{file}, line {toml_edit.line_of(text, key)}")
    store = values.get("store", "")
    if store and "://" not in store:  # a relative folder is meant as seen from the file
        values["store"] = str(file.parent / Path(store).expanduser())
    return values


def _check(values: Mapping[str, object], where: Any, *, texts: bool = False) -> None:
    """Raises `ConfigError` for the first wrong value; `where` says for a key where it stands."""
    try:
        Config.model_validate(dict(values), context={"texts": texts})
    except ValidationError as error:
        first = error.errors()[0]
        key = str(first["loc"][0])
        if first["type"] == "extra_forbidden":
            raise ConfigError(f"{where(key)}: {_unknown(key)}") from None
        allowed = Config.model_fields[key].description
        raise ConfigError(f"{where(key)}: {key} is {_shown(values[key])}, but should be {allowed}") from None


def _unknown(key: str) -> str:
    if re.search(r"key|token|secret", key, re.IGNORECASE) and not difflib.get_close_matches(key, ["max_tokens"], 1):
        return f"there is no setting {key!r}; a key is never kept here, set ANTHROPIC_API_KEY in the environment"
    near = difflib.get_close_matches(key, Config.model_fields, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(sorted(Config.model_fields))}"
    return f"there is no setting {key!r}; {hint}"


def _shown(value: object) -> str:
    text = toml_edit.dumps(value) if isinstance(value, str | bool | int | float | list | tuple) else repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


__all__ = ["Config", "ConfigError", "Paths", "load_config", "paths", "save_setting"]
