"""The settings: what goes before what, what an error says, and that saving one leaves the rest of the file alone."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from fireside_tui import config, toml_edit
from fireside_tui.config import Config, ConfigError, load_config, paths, save_setting
from fireside_tui.config_check import checked
from hypothesis import given
from hypothesis import strategies as st


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CONFIG", "DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    for key in ("CONFIG", *map(str.upper, Config.model_fields)):
        monkeypatch.delenv(f"FIRESIDE_{key}", raising=False)
    return tmp_path


def written(home: Path, text: str) -> Path:
    file = home / "config" / "fireside" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    return file


def test_without_a_file_every_field_has_its_default(home: Path) -> None:
    config = load_config()
    assert config.model_dump() == Config().model_dump()
    assert config.place == str(home / "data" / "fireside" / "conversations")
    assert config.source == home / "config" / "fireside" / "config.toml"
    assert not list(home.iterdir()), "asking makes no file"


def test_options_go_before_environment_before_file_before_defaults(home: Path) -> None:
    written(home, 'model = "from-file"\ntheme = "from-file"\nsystem = "from-file"\n')
    environ = {"FIRESIDE_MODEL": "from-env", "FIRESIDE_THEME": "from-env", "FIRESIDE_SYSTEM": ""}
    config = load_config(options={"model": "from-option", "theme": None}, environ=environ)
    assert (config.model, config.theme, config.system) == ("from-option", "from-env", "from-file")


def test_environment_holds_numbers_and_truth_values_as_texts() -> None:
    config = load_config(environ={"FIRESIDE_MAX_TOKENS": "500", "FIRESIDE_TOOLS": "false", "FIRESIDE_OTHER": "x"})
    assert (config.max_tokens, config.tools) == (500, False)


@pytest.mark.parametrize(
    ("text", "line", "parts"),
    [
        ("# hi\n\nmodle = 'x'", 3, ["'modle'", "did you mean 'model'"]),
        ("\n  effort = 'hgh'", 2, ["effort", '"hgh"', '"xhigh"']),
        ("tools = 'false'", 1, ["tools", "true or false"]),
        ("max_tokens = true", 1, ["max_tokens", "1 or more"]),
        ("max_tokens = '5'", 1, ["max_tokens"]),
        ("max_tokens = 0", 1, ["max_tokens is 0", "1 or more"]),
        ("save_partial_every = -1.0", 1, ["0 for none"]),
        ("save_partial_every = nan", 1, ["0 for none"]),
        ("model = 5", 1, ["model is 5", "name of a model"]),
        ("base_url = 'localhost'", 1, ['"http://…"']),
        ("base_url = 'http://'", 1, ['"http://…"']),
        ("base_url = 'http://a b'", 1, ['"http://…"']),
        ("base_url = 'http://[::1'", 1, ['"http://…"']),
        ("base_url = 'http://a:99999'", 1, ['"http://…"']),
        ("always_allow = 'all'", 1, ["a list of names"]),
        ("always_allow = [1]", 1, ["a list of names"]),
        ("system = '''\nmodle = 1\n'''\nmodle = 1", 4, ["'modle'"]),
        ("api_key = 'sk-secret'", 1, ["ANTHROPIC_API_KEY"]),
        ("[colours]\na = 1", 1, ["'colours'", "there are"]),
        ("theme = ", 1, ["not TOML: Invalid value"]),
        ("theme = 'x'\ntheme = 'y'", 2, ["not TOML: Cannot overwrite a value"]),
    ],
)
def test_error_names_file_line_key_and_what_is_allowed(home: Path, text: str, line: int, parts: list[str]) -> None:
    file = written(home, text)
    with pytest.raises(ConfigError) as caught:
        load_config()
    message = str(caught.value)
    assert message.startswith(f"{file}, line {line}: ")
    assert "\n" not in message
    assert "sk-secret" not in message
    for part in parts:
        assert part in message


@pytest.mark.parametrize("text", ["max_tokens = " + "9" * 5000, "x = " + "[" * 5000])
def test_what_is_too_large_to_be_read_is_a_wrong_file_too(home: Path, text: str) -> None:
    file = written(home, text)
    with pytest.raises(ConfigError, match="too large") as caught:
        load_config()
    assert str(caught.value).startswith(f"{file}: ")
    told: list[str] = []
    assert load_config(despite=told).model == ""
    assert len(told) == 1
    with pytest.raises(ConfigError, match="not changed"):
        save_setting("theme", "x")
    assert file.read_text() == text


def test_error_in_environment_or_option_names_it() -> None:
    with pytest.raises(ConfigError, match="environment variable FIRESIDE_EFFORT: effort is"):
        load_config(environ={"FIRESIDE_EFFORT": "much"})
    with pytest.raises(ConfigError, match="option --base-url: base_url is"):
        load_config(options={"base_url": "nowhere"}, environ={})


def test_a_named_file_has_to_exist_and_a_file_has_to_be_readable(home: Path) -> None:
    with pytest.raises(ConfigError, match="there is no config file"):
        load_config(home / "none.toml")
    with pytest.raises(ConfigError, match="there is no config file"):
        load_config(environ={"FIRESIDE_CONFIG": "x"})
    with pytest.raises(ConfigError, match="can't be read: Is a directory"):
        load_config(home)
    written(home, "")
    (home / "config" / "fireside" / "config.toml").write_bytes(b"# ok\n\xff")
    with pytest.raises(ConfigError, match="line 2: this is not UTF-8"):
        load_config()


def test_the_app_may_open_despite_a_wrong_file_but_not_despite_a_wrong_option(home: Path) -> None:
    file = written(home, "model = 'x'\ntheme = 5")
    told: list[str] = []
    config = load_config(options={"system": "s"}, despite=told)
    assert (config.model, config.system, config.source) == ("x", "s", file)
    what = 'theme is 5, but should be the name of a theme of the app; "" for the usual one. This is ignored.'
    assert told == [f"{file}, line 2: {what}"]
    with pytest.raises(ConfigError, match="line 2"):
        load_config()
    with pytest.raises(ConfigError, match="--effort"):
        load_config(options={"effort": "x"}, despite=told)
    with pytest.raises(ConfigError, match="no config file"):
        load_config(home / "none", despite=told)


def test_despite_wrong_lines_the_right_ones_count_and_each_wrong_one_is_told(home: Path) -> None:
    file = written(home, 'store = "/tmp/big"\nmodel = "demo"\nbase_url = "http://a:80"\nthem = "x"\ntools = "no"')
    told: list[str] = []
    config = load_config(despite=told)
    assert (config.store, config.model, config.base_url, config.tools) == ("/tmp/big", "demo", "http://a:80", True)
    assert [line.partition(": ")[0] for line in told] == [f"{file}, line 5", f"{file}, line 4"]
    assert "did you mean 'theme'? This is ignored." in told[1]
    assert not config.unknown
    with pytest.raises(ConfigError, match=r"line [45]"):
        load_config()


@pytest.mark.parametrize(
    "text",
    ["store = 5", "stor = '/tmp/x'", "Store = '/tmp/x'", "theme = 'x'\nstore = '/tmp/x\n", "store = ['/tmp/x']"],
)
def test_a_store_that_the_file_names_and_nobody_understands_is_no_other_store(home: Path, text: str) -> None:
    written(home, text)
    told: list[str] = []
    config = load_config(despite=told)
    with pytest.raises(ConfigError, match="does not say where the conversations are"):
        _ = config.place
    assert "none can be opened or saved" in told[-1]
    assert load_config(options={"store": "/tmp/y"}, despite=[]).place == "/tmp/y"
    assert load_config(environ={"FIRESIDE_STORE": "/tmp/z"}, despite=[]).place == "/tmp/z"


@pytest.mark.parametrize(
    "text", ["base_url = 'localhost:80'", "baseurl = 'http://a'", "base_url = 'http://a:80x'", "base_url = 'x"]
)
def test_a_server_that_the_file_names_and_nobody_understands_is_no_other_server(home: Path, text: str) -> None:
    file = written(home, text)
    told: list[str] = []
    config = load_config(despite=told)
    assert config.server == f"base_url in {file}"
    assert config.place
    assert "none is asked" in told[-1]
    assert load_config(environ={"FIRESIDE_BASE_URL": "http://b"}, despite=[]).server == "http://b"


def test_a_file_that_can_not_be_read_may_name_a_store(home: Path) -> None:
    (home / "config" / "fireside" / "config.toml").mkdir(parents=True)
    told: list[str] = []
    config = load_config(despite=told)
    assert "can't be read" in told[0]
    with pytest.raises(ConfigError, match="does not say where the conversations are"):
        _ = config.place


def test_a_file_that_is_no_toml_says_that_nothing_in_it_is_in_use(home: Path) -> None:
    written(home, "model = 'demo'\ntheme = \n")
    told: list[str] = []
    config = load_config(despite=told)
    assert config.model == ""
    assert config.place
    (line,) = told
    assert "line 2: this is not TOML" in line
    assert line.endswith("None of the settings in it are in use.")


def test_saving_replaces_ordinary_files_alone(home: Path) -> None:
    with pytest.raises(OSError, match="no ordinary file"):
        toml_edit.replace_file(Path("/dev/null"), "")
    assert not Path("/dev/null").is_file()


def test_a_relative_store_in_the_file_is_seen_from_the_file(home: Path) -> None:
    file = written(home, 'store = "chats"')
    assert load_config().place == str(file.parent / "chats")
    assert load_config(options={"store": "chats"}).place == "chats"
    assert load_config(options={"store": "sqlite:///x.db"}).place == "sqlite:///x.db"
    assert load_config(options={"store": "~/x"}).place == str(Path.home() / "x")


def test_each_store_has_its_own_search_index() -> None:
    index = paths().search_index
    assert index("/a") == index("/a/../a")
    assert len({index("/a"), index("/b"), index("sqlite:////a")}) == 3


def test_a_saved_setting_leaves_the_rest_byte_for_byte(home: Path) -> None:
    text = "\ufeff# mine\r\n  theme = 'dark'   # at night\r\nsystem = '''\r\ntheme = 1\r\n'''\r\nalways_allow = [\r\n'a',\r\n]"
    file = written(home, text)
    save_setting("theme", 'li"ght')
    assert file.read_bytes().decode() == text.replace("'dark'", '"li\\"ght"')
    save_setting("always_allow", ["b"])
    save_setting("model", "m")
    assert file.read_bytes().decode().endswith('always_allow = ["b"]\r\nmodel = "m"\r\n')
    config = load_config()
    assert (config.theme, config.always_allow, config.model) == ('li"ght', ("b",), "m")
    save_setting("theme", None)
    assert load_config().theme == ""


def test_saving_makes_the_file_private_and_follows_a_link(home: Path) -> None:
    save_setting("theme", "x")
    file = load_config().source
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in file.parent.iterdir()] == ["config.toml"]
    kept = home / "dotfiles.toml"
    kept.write_text("# kept\n")
    kept.chmod(0o644)
    link = home / "link.toml"
    link.symlink_to(kept)
    save_setting("theme", "y", link)
    assert link.is_symlink()
    assert kept.read_text() == '# kept\ntheme = "y"\n'
    assert kept.stat().st_mode & 0o777 == 0o644


def test_saving_refuses_what_is_wrong_and_leaves_the_file(home: Path) -> None:
    file = written(home, "broken = [")
    for key, value in (("theme", "x"), ("them", "x"), ("them", None), ("effort", "no"), ("theme", "\ud800")):
        with pytest.raises(ConfigError):
            save_setting(key, value)
    assert file.read_text() == "broken = ["


@given(
    st.text(st.characters(exclude_categories=["Cs"])) | st.booleans() | st.integers() | st.lists(st.text("ab'\"#\n")),
    st.sampled_from(
        ["", "# c\n", "a = 1 # theme = 2\n", "theme = '''\n#'''# c\n", "b = 1\n[theme2]\ntheme = 3\n", "x = 1"]
    ),
)
def test_any_value_can_be_set_and_taken_out_again(value: object, text: str) -> None:
    edited = toml_edit.with_value(text, "theme", value)
    assert tomllib.loads(edited) == {**tomllib.loads(text), "theme": value}
    without = toml_edit.with_value(edited, "theme", None)
    assert tomllib.loads(without) == {key: kept for key, kept in tomllib.loads(text).items() if key != "theme"}


@pytest.mark.parametrize("key", Config.model_fields)
@pytest.mark.parametrize("texts", [False, True])
def test_what_is_taken_unchecked_is_what_the_check_would_have_taken(key: str, texts: bool) -> None:
    values = ["", "x", "high", "adaptive", "true", "http://a", "ftp://a", True, False, 0, 1, 2.5, None, [], ["x"], {}]
    taken = [value for value in values if config._is_plain(key, value)]
    for value in taken:
        assert checked({key: value}, texts=texts) == ({key: value}, [])
    assert bool(taken) is (key not in ("base_url", "max_tokens", "save_partial_every", "always_allow"))
