"""The commands that change a setting: of the conversation on the screen, or of the app."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fireside_tui.config import ConfigError, is_address, save_setting
from fireside_tui.screens.base import MainBase

if TYPE_CHECKING:
    from fireside import Agent
    from fireside.models import ModelInfo

EFFORTS = ("low", "medium", "high", "xhigh", "max")


def _tools_of(agent: Agent) -> list[str]:
    """The tools of an Agent. Those of an MCP server are known while there is a connection: `name__…` stands for them."""
    return [*agent.own_tools, *(f"{server.name}__…" for server in agent.mcp_servers)]


class SettingCommands(MainBase):
    """Model, system prompt, effort, theme, thinking, tools, demo, server."""

    async def _set(self, **changes: Any) -> bool:
        """Settings of the conversation on the screen."""
        current = self.current
        if current is None:
            return False
        done = await self.told(self.conversations.set_settings(current, **changes))
        self.chat.update_lines()
        return done

    async def do_model(self, argument: str = "") -> None:
        """The model of this conversation."""
        current = self.current
        if current is None:
            return
        name = argument or await self._pick_model(current.agent.model)
        if name and await self._set(model=name):
            self.fireside.model_chosen()
            self.say(f"This conversation goes on with {name}.")

    async def _pick_model(self, model: Any) -> str | None:
        from fireside import DEFAULT_MODEL

        from fireside_tui.screens.pick import Choice, Pick

        names = dict.fromkeys((model.name, self.conversations.agent.model.name, DEFAULT_MODEL, "demo"))
        known = [Choice(name, name, "offline, no key" if name == "demo" else "") for name in names]
        pick = Pick("Model", known, current=model.name, free=True)

        async def more() -> None:
            try:
                infos = await model.models()
            except Exception as error:
                pick.note(f"The list of models did not come: {error}")
                return
            pick.add([Choice(info.id, info.id, _about(info)) for info in infos])

        self.run_worker(more(), exit_on_error=False, group="models", exclusive=True)
        chosen = await self.app.push_screen_wait(pick)
        return chosen

    async def do_system(self, argument: str = "") -> None:
        """The system prompt of this conversation."""
        if self.current is None:
            return
        now = self.current.agent.system or ""
        text = argument or await self.ask("System prompt of this conversation", now, verb="sets it", lines=True)
        if text is not None and text != now and await self._set(system=text):
            self.say("The system prompt of this conversation is changed.")

    async def do_effort(self, argument: str = "") -> None:
        """How hard it thinks."""
        if self.current is None:
            return
        choices = [("", "the model's own", ""), *((effort, effort, "") for effort in EFFORTS)]
        now = self.current.agent.effort or ""
        effort = argument.lower() or await self.pick_one("Effort", choices, current=now, verb="sets it")
        if effort is None:
            return
        if effort not in ("", *EFFORTS):
            self.say(f"The efforts are {', '.join(EFFORTS)}.", error=True)
            return
        await self._set(effort=effort or None)

    async def do_theme(self, argument: str = "") -> None:
        """The colours."""
        names = sorted(self.app.available_themes, key=lambda name: (not name.startswith("fireside"), name))
        choices = [(name, name, "") for name in names if not name.startswith("textual-ansi")]
        name = argument or await self.pick_one("Theme", choices, current=self.app.theme, verb="sets it")
        if not name:
            return
        if name not in self.app.available_themes:
            self.say(f"There is no theme {name}.", error=True)
            return
        self.app.theme = name
        self._keep("theme", name)

    def do_thinking(self, argument: str = "") -> None:
        """Shown or folded."""
        chat = self.chat
        chat.show_thinking = not chat.show_thinking
        chat.transcript.fold_all("thinking", not chat.show_thinking)
        chat.narrate_thinking(chat.show_thinking)
        self._keep("show_thinking", chat.show_thinking)
        if not any(item.kind == "thinking" for item in chat.transcript.items):  # else one sees it
            self.say("Thinking will be shown." if chat.show_thinking else "Thinking will be folded.")

    def do_tools(self, argument: str = "") -> None:
        """On or off, for all conversations."""
        if argument not in ("", "on", "off"):
            self.say("/tools on, or /tools off.", error=True)
            return
        off = argument == "off" if argument in ("on", "off") else bool(_tools_of(self.conversations.agent))
        tools = self.fireside.tools  # `human` gives a tool of its own, to ask the person
        self.conversations.use_agent(**({"tools": (), "mcp_servers": (), "human": None} if off else tools))
        names = ", ".join(_tools_of(self.conversations.agent))
        self.say(f"Tools are on: {names}." if names else "Tools are off." if off else "There are no tools here.")

    async def do_allow(self, argument: str = "") -> None:
        """A tool that runs unasked in this conversation."""
        current = self.current
        if current is None:
            return
        agent = current.agent
        if not _tools_of(agent):
            self.say("There are no tools here.")
            return
        known = [*agent.tools, *sorted(current.allowed - set(agent.tools))]
        if not (known or argument):
            self.say(f"Name one of these: /allow {' or /allow '.join(_tools_of(agent))}")
            return
        tools = [(name, name, "allowed" if name in current.allowed else "") for name in known]
        name = argument or await self.pick_one("Allow without asking (again: ask)", tools)
        if name in known or (name and name.startswith(tuple(f"{server.name}__" for server in agent.mcp_servers))):
            current.allowed ^= {name}
            self.say(
                f"{name} {'runs without asking' if name in current.allowed else 'asks again'}, in this conversation."
            )
        elif name:
            self.say(f"There is no tool {name}; there are {', '.join(_tools_of(agent))}.", error=True)

    async def do_demo(self, argument: str = "") -> None:
        """The offline demo."""
        self.conversations.use_agent(model="demo")
        self.fireside.model_chosen()
        await self._set(model="demo")
        self.chat.update_lines()
        self.go_to(self.chat.composer)
        self.say("You talk to the offline demo now. Say hello.")

    async def do_server(self, argument: str = "") -> None:
        """A local server."""
        words = argument.split()
        if words and (wrong := _wrong_address(words[0])):
            self.say(wrong, error=True)
            return
        address = words[0] if words else await self.ask(
            "Address of a server that speaks the Messages API", self._server, replace=True, check=_wrong_address
        )  # fmt: skip
        if not address:
            return
        address = address.strip()
        model = words[1] if len(words) > 1 else await self.ask("Name of the model there", "default", replace=True)
        if not model or not model.strip():
            return
        try:
            self.conversations.use_agent(model=model.strip(), base_url=address)
        except (ValueError, TypeError) as error:
            self.say(str(error), error=True)
            return
        self._server = address
        self.fireside.model_chosen(own_server=True)
        if self.current is not None and "model" in self.current.settings:  # it would go on with the model of its own
            await self._set(model=None)
        self.chat.update_lines()
        self.go_to(self.chat.composer)
        self.say(f"New answers come from {address}. base_url and model in the config file keep it so.")
        self.run_worker(self._look_for(address), exit_on_error=False, group="server", exclusive=True)

    _server = "http://localhost:8080"
    """The address that is offered."""

    async def _look_for(self, address: str) -> None:
        """Says it if nothing answers at an address; meanwhile one can write. The setting stays: it may be started yet."""
        from fireside_tui.reach import why_not

        if why := await why_not(address):
            self.say(f"Nothing answers at {address}: {why}", error=True)

    def _keep(self, key: str, value: object) -> None:
        """Writes a setting of the app into the config file; where it can't be, it holds until the end."""
        try:
            save_setting(key, value, self.config.source)
        except (ConfigError, OSError) as error:
            self.say(f"It can't be kept: {error}", error=True)


def _about(info: ModelInfo) -> str:
    """What stands behind a model's id: its name, and that it is on its way out if it is."""
    name = info.name if info.name != info.id else ""
    end = info.lifecycle if info.lifecycle in ("deprecated", "retired") else ""
    return " · ".join(part for part in (end, name) if part)


def _wrong_address(text: str) -> str:
    """What is wrong with the address of a server; "" where nothing is."""
    text = text.strip()
    if not text or is_address(text):
        return ""
    if not text.startswith(("http://", "https://")):
        return f"{text} is no address of a server: it begins with http:// or https://"
    return f"{text} is no address of a server: write it like http://localhost:8080"
