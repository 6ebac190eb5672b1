"""`Config`: the settings, from the config file, the environment and the command's options, and where files lie.

Knows neither the library nor the screen. Each setting is declared once, in `Config`; its description is what an error says
is allowed. What checks them is in `config_check`, which is loaded for a value that could be wrong: the app starts faster
without.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, get_args, get_origin, get_type_hints

import platformdirs

PREFIX = "FIRESIDE_"
"""What the environment variables of the settings begin with: `FIRESIDE_MODEL`, `FIRESIDE_STORE` …"""


class ConfigError(ValueError):
    """A setting is wrong; the message says where it stands and what is allowed."""


def _setting(default: Any, allowed: str, **bounds: Any) -> Any:
    """A setting: its default, what is allowed in words, and what pydantic's `Field` is told besides the type."""
    return field(default=default, metadata={"allowed": allowed, "bounds": bounds})


@dataclass(frozen=True)
class Config:
    """The settings of the app and the command line. It does not change; `dataclasses.replace` gives another one."""

    model: str = _setting("", 'the name of a model; "" for the usual one, "demo" for the one without a network')
    system: str = _setting("", "the system prompt, as a text")
    effort: Literal["", "low", "medium", "high", "xhigh", "max"] = _setting(
        "", '"low", "medium", "high", "xhigh" or "max"; "" for the model\'s own'
    )
    thinking: Literal["", "adaptive", "between_tools", "disabled"] = _setting(
        "", '"adaptive", "between_tools" or "disabled"; "" for the model\'s own'
    )
    max_tokens: int | None = _setting(None, "the longest answer in tokens, 1 or more", ge=1)
    base_url: str = _setting("", 'the address of an API server, "http://…" or "https://…"')
    store: str = _setting("", 'a folder, "sqlite:///…" or "postgresql://…"')
    save_partial_every: float = _setting(
        2.0, "seconds between saves of an answer that streams; 0 for none", ge=0, allow_inf_nan=False
    )
    tools: bool = _setting(True, "true or false: whether the model may call tools")
    always_allow: tuple[str, ...] = _setting((), "a list of names of tools that run without being asked about")
    theme: str = _setting("", 'the name of a theme of the app; "" for the usual one')
    show_thinking: bool = _setting(False, "true or false: whether thinking is shown unfolded")

    _source: Path | None = field(default=None, repr=False, compare=False)
    for_once: frozenset[str] = field(default=frozenset(), repr=False, compare=False)
    """The settings that an option gave."""
    unknown: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    """The settings whose values the file was to give and does not, with the reason: see `load_config`."""

    model_fields: ClassVar[dict[str, str]] = {}
    """What is allowed for each setting, in words."""

    def model_dump(self) -> dict[str, Any]:
        """The settings as a dict."""
        return {key: value for key, value in asdict(self).items() if key in self.model_fields}

    @property
    def source(self) -> Path:
        """The config file that these settings came from, and that `save_setting` is to write; it may not exist."""
        return self._source or paths().config_file

    @property
    def place(self) -> str:
        """Where conversations are kept, for `open_store`.

        Raises `ConfigError` where the file names a place that can't be understood: what a person wanted in a place of
        their own must not go to another one.
        """
        if why := self.unknown.get("store"):
            raise ConfigError(why)
        if not self.store:
            return str(paths().conversations)
        return self.store if "://" in self.store else os.path.expanduser(self.store)

    @property
    def server(self) -> str:
        """The server that answers, for `Agent`; "" for the usual one. One that the file names and that can't be understood
        is no address: it is refused when it is used, so that nothing goes to another server."""
        return f"base_url in {self.source}" if self.unknown.get("base_url") else self.base_url


Config.model_fields.update((found.name, found.metadata["allowed"]) for found in fields(Config) if found.metadata)


class Paths(NamedTuple):
    """Where the files of this device lie. None of them is made by asking."""

    config_file: Path
    data_dir: Path
    cache_dir: Path

    @property
    def conversations(self) -> Path:
        """The default store."""
        return self.data_dir / "conversations"

    @property
    def old_device_file(self) -> Path:
        """Drafts, unread marks and pins of all stores, as earlier versions kept them."""
        return self.data_dir / "device.json"

    def device_file(self, place: str) -> Path:
        """Drafts, unread marks and pins of the store at a place, which is as `Store.place` tells it."""
        import hashlib

        return self.data_dir / f"device-{hashlib.sha256(os.fsencode(place)).hexdigest()[:16]}.json"

    def search_index(self, place: str) -> Path:
        """The full-text index of a store; each store has its own."""
        import hashlib

        where = place if "://" in place else os.path.realpath(place)
        return self.cache_dir / f"search-{hashlib.sha256(os.fsencode(where)).hexdigest()[:16]}.sqlite"


def paths() -> Paths:
    """Where things lie, as platformdirs and `FIRESIDE_CONFIG` say."""
    dirs = platformdirs.PlatformDirs("fireside", appauthor=False)
    named = os.environ.get(f"{PREFIX}CONFIG")
    file = Path(named).expanduser() if named else Path(dirs.user_config_dir) / "config.toml"
    return Paths(file, Path(dirs.user_data_dir), Path(dirs.user_cache_dir))


def is_address(text: str) -> bool:
    """Whether it names a server: `http://` or `https://`, a host, perhaps a port."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and text.split() == [text]
    except ValueError:  # the port is no number, or a bracket stays open
        return False


def load_config(
    path: Path | None = None,
    *,
    options: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
    despite: list[str] | None = None,
) -> Config:
    """The settings: `options` go before the environment, the environment before the file, the file before the defaults.

    `path` is a config file that has to exist; left out, it is the one of `paths()`, which need not. Options that are
    `None` are not given. Raises `ConfigError`, whose message names the file, the line, the key and what is allowed.

    With a list as `despite`, a file that is there but wrong gives what is right in it: each wrong setting is told in the
    list and left out, and a file that is no TOML gives nothing. A wrong `store` or `base_url` is then `unknown`.
    """
    environ = os.environ if environ is None else environ
    must_exist = path is not None or bool(environ.get(f"{PREFIX}CONFIG"))
    file = path if path is not None else paths().config_file
    wrong: dict[str, str] = {}
    try:
        from_file = _read(file, must_exist=must_exist, wrong=None if despite is None else wrong)
    except ConfigError as error:
        if despite is None or not os.path.lexists(file):
            raise
        from_file, wrong = {}, {"": f"{error}. None of the settings in it are in use."}
    from_environ: dict[str, Any] = {
        key: value
        for key in Config.model_fields
        if key != "always_allow" and (value := environ.get(PREFIX + key.upper(), ""))
    }
    given = {key: value for key, value in (options or {}).items() if value is not None}
    from_environ = _check(from_environ, lambda key: f"the environment variable {PREFIX}{key.upper()}", texts=True)
    given = _check(given, lambda key: f"the option --{key.replace('_', '-')}", texts=True)
    unknown = {}
    for key, what in _TO_A_PLACE.items():
        if key not in {**from_environ, **given} and _names(key, wrong, file):
            unknown[key] = f"{file} does not say {what}."
    if despite is not None and wrong:
        despite += [*wrong.values(), *unknown.values()]
    return Config(
        **{**from_file, **from_environ, **given}, _source=file, for_once=frozenset(given), unknown=unknown
    )  # fmt: skip


_TO_A_PLACE = {
    "store": "where the conversations are, so none can be opened or saved: mend it, or start with --store PLACE",
    "base_url": "which server answers, so none is asked: mend it, or name one with /server",
}
"""The settings that say where something goes, and what follows where they are not understood."""


def _names(key: str, wrong: Mapping[str, str], file: Path) -> bool:
    """Whether a wrong file seems to give this setting: under its name, a misspelt one, or somewhere in what is no TOML."""
    if "" not in wrong:
        return any(key == one or (one not in Config.model_fields and _near(one) == key) for one in wrong)
    try:
        text = file.read_bytes().decode(errors="replace")
    except OSError:
        return key == "store"  # nobody knows; the server of the environment is known at least
    return re.search(rf"^\s*[\"']?{key}[\"']?\s*=", text, re.MULTILINE) is not None


def save_setting(key: str, value: object, path: Path | None = None) -> None:
    """Writes one setting into the config file and leaves all the rest as it is, byte for byte; `None` takes it out.

    `path` is `config.source`. The file is replaced in one go, so it is never half-written. Raises `ConfigError` for a
    wrong key or value or a file that can't be edited, `OSError` as usual.
    """
    from fireside_tui import toml_edit

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


def _read(file: Path, *, must_exist: bool, wrong: dict[str, str] | None = None) -> dict[str, Any]:
    text = _text(file)
    if text is None:
        if must_exist:
            raise ConfigError(f"there is no config file {file}")
        return {}
    import tomllib

    from fireside_tui import toml_edit

    try:
        values = tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        what, _, place = str(error).removesuffix(")").rpartition(" (at ")
        line = place.split(",")[0] if place.startswith("line") else f"line {max(len(text.splitlines()), 1)}"
        raise ConfigError(f"{file}, {line}: this is not TOML: {what}") from None
    except (ValueError, RecursionError):
        raise ConfigError(f"{file}: a number or a list in it is too large to be read") from None
    values = _check(values, lambda key: f"{file}, line {toml_edit.line_of(text, key)}", wrong=wrong)
    store = values.get("store", "")
    if store and "://" not in store:  # a relative folder is meant as seen from the file
        values["store"] = str(file.parent / Path(store).expanduser())
    return values


def _check(
    values: Mapping[str, Any],
    where: Callable[[str], str],
    *,
    texts: bool = False,
    wrong: dict[str, str] | None = None,
) -> dict[str, Any]:
    """The values in the types of the settings; `where` says where one stands.

    Raises `ConfigError` for the first wrong one, or puts what is wrong into `wrong`, by setting, and leaves it out.
    """
    if all(_is_plain(key, value) for key, value in values.items()):
        return dict(values)
    from fireside_tui.config_check import checked

    found, bad = checked(values, texts=texts)
    for key in bad:
        if key in Config.model_fields:
            what = f"{key} is {_shown(values[key])}, but should be {Config.model_fields[key]}"
        else:
            what = _unknown(key)
        if wrong is None:
            raise ConfigError(f"{where(key)}: {what}")
        wrong[key] = f"{where(key)}: {what}{'' if what.endswith('?') else '.'} This is ignored."
    return found


def _is_plain(key: str, value: object) -> bool:
    """Whether a value is right beyond doubt, as most are: the check of the others takes as long as half of the start."""
    kind = get_type_hints(Config).get(key) if key in Config.model_fields else None
    if kind is str:
        return isinstance(value, str) and key != "base_url"
    if get_origin(kind) is Literal:
        return isinstance(value, str) and value in get_args(kind)
    return kind is bool and isinstance(value, bool)


def _unknown(key: str) -> str:
    import difflib

    if re.search(r"key|token|secret", key, re.IGNORECASE) and not difflib.get_close_matches(key, ["max_tokens"], 1):
        return f"there is no setting {key!r}; a key is never kept here, set ANTHROPIC_API_KEY in the environment"
    near = _near(key)
    hint = f"did you mean {near!r}?" if near else f"there are {', '.join(sorted(Config.model_fields))}"
    return f"there is no setting {key!r}; {hint}"


def _near(key: str) -> str | None:
    """The setting that somebody meant who wrote this."""
    import difflib

    return next(iter(difflib.get_close_matches(key.lower(), Config.model_fields, 1)), None)


def _shown(value: object) -> str:
    from fireside_tui import toml_edit

    text = toml_edit.dumps(value) if isinstance(value, str | bool | int | float | list | tuple) else repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


__all__ = ["Config", "ConfigError", "Paths", "is_address", "load_config", "paths", "save_setting"]
