"""The commands that change a setting: of the conversation on the screen, or of the app."""

from __future__ import annotations

from typing import Any

from fireside_tui.config import ConfigError, save_setting
from fireside_tui.screens.base import MainBase

EFFORTS = ("low", "medium", "high", "xhigh", "max")


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
            pick.add([Choice(info.id, info.name, info.id if info.id != info.name else "") for info in infos])

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
        effort = argument.lower() or await self.pick_one("Effort", choices, current=now)
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
        name = argument or await self.pick_one("Theme", choices, current=self.app.theme)
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
        off = argument == "off" if argument in ("on", "off") else bool(self.conversations.agent.tools)
        tools = () if off else self.fireside.tools
        self.conversations.use_agent(tools=tools)
        names = ", ".join(self.conversations.agent.tools)
        self.say(f"Tools are on: {names}." if names else "Tools are off." if off else "There are no tools here.")

    async def do_allow(self, argument: str = "") -> None:
        """A tool that runs unasked in this conversation."""
        current = self.current
        if current is None:
            return
        tools = [(name, name, "allowed" if name in current.allowed else "") for name in current.agent.tools]
        if not tools:
            self.say("There are no tools here.")
            return
        name = argument or await self.pick_one("Allow without asking (again: ask)", tools)
        if name in current.agent.tools:
            current.allowed ^= {name}
            self.say(
                f"{name} {'runs without asking' if name in current.allowed else 'asks again'}, in this conversation."
            )
        elif name:
            self.say(f"There is no tool {name}; there are {', '.join(current.agent.tools)}.", error=True)

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
        address = words[0] if words else await self.ask(
            "Address of a server that speaks the Messages API", "http://localhost:8080"
        )  # fmt: skip
        if not address:
            return
        model = words[1] if len(words) > 1 else await self.ask("Name of the model there", "default")
        if not model:
            return
        try:
            self.conversations.use_agent(model=model, base_url=address)
        except (ValueError, TypeError) as error:
            self.say(str(error), error=True)
            return
        self.fireside.model_chosen(own_server=True)
        self.chat.update_lines()
        self.go_to(self.chat.composer)
        self.say(f"New answers come from {address}. base_url and model in the config file keep it so.")

    def _keep(self, key: str, value: object) -> None:
        """Writes a setting of the app into the config file; where it can't be, it holds until the end."""
        try:
            save_setting(key, value, self.config.source)
        except (ConfigError, OSError) as error:
            self.say(f"It can't be kept: {error}", error=True)
