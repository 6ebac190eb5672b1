"""The command `fireside` itself: the app, `-p`, and the table of subcommands, which are loaded when they are called."""

from __future__ import annotations

import gc
import importlib
from typing import Any

import click

from fireside_tui.cli.frame import EXIT_CODES
from fireside_tui.cli.given import Given
from fireside_tui.cli.options import common

COMMANDS = {
    "list": "look:list_",
    "show": "look:show",
    "search": "look:search",
    "export": "take:export",
    "rename": "change:rename",
    "fork": "change:fork",
    "delete": "change:delete",
    "doctor": "check:doctor",
}
"""Each subcommand: the room that it lives in and its name there."""


class Lazy(click.Group):
    """A group whose commands are imported on their first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of the table, which goes from looking to changing."""
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        if cmd_name not in COMMANDS:
            return None
        room, name = COMMANDS[cmd_name].split(":")
        command: click.Command = getattr(importlib.import_module(f"fireside_tui.cli.{room}"), name)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """As click does; a question without quotes is told so."""
        import difflib

        if ctx.params.get("question") is not None and args[0] not in COMMANDS:
            told = "is one argument: put it in quotes" if ctx.params["question"] else "stands right behind -p"
            raise click.UsageError(f"the question {told}", ctx)
        if args[0] not in COMMANDS and " " in args[0].strip():
            raise click.UsageError(
                f"there is no such command; a question stands behind -p: fireside -p {args[0]!r}", ctx
            )
        if args[0] not in COMMANDS and (near := difflib.get_close_matches(args[0], COMMANDS, 1)):
            raise click.UsageError(f"there is no command {args[0]!r}; did you mean {near[0]!r}?", ctx)
        return super().resolve_command(ctx, args)


def _version(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        import fireside

        click.echo(f"fireside {fireside.__version__}")
        ctx.exit()


def _epilog() -> str:
    return f"\b\n{EXIT_CODES}"


@click.group(
    cls=Lazy,
    invoke_without_command=True,
    subcommand_metavar="[COMMAND …]",
    epilog=_epilog(),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "-p",
    "--print",
    "question",
    metavar="QUESTION",
    is_flag=False,
    flag_value="",
    help="Ask without the screen: the answer goes to stdout. Text from a pipe is added to the question.",
)
@click.option("-c", "--continue", "newest", is_flag=True, help="Open the newest conversation, or ask in it.")
@click.option(
    "-r", "--resume", metavar="ID", help="Open this conversation, or ask in it; a unique start of its id is enough."
)
@click.option("-m", "--model", metavar="NAME", help="The model, such as claude-sonnet-5-5, or demo (offline).")
@click.option("--system", metavar="TEXT", help="The system prompt.")
@click.option("--agent", "agent_file", metavar="FILE.py:NAME", help="Your own Agent, with its tools.")
@click.option("--json", "as_json", is_flag=True, help="With -p: one event per line, as JSON.")
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version.")
@common
@click.pass_context
def fireside(
    ctx: click.Context,
    given: Given,
    question: str | None,
    newest: bool,
    resume: str | None,
    model: str | None,
    system: str | None,
    agent_file: str | None,
    as_json: bool,
) -> int | None:
    """Chat with Claude in the terminal, in conversations that survive anything.

    Without a command it opens the app.
    """
    if ctx.invoked_subcommand is not None or question is not None:
        gc.enable()  # the app does so once its start is over
    if ctx.invoked_subcommand is not None:
        _refuse_options(ctx)
        return None
    if newest and resume is not None:
        raise click.UsageError("--continue and --resume each name a conversation: give one of them", ctx)
    if as_json and question is None:
        raise click.UsageError("--json goes with -p (and with list, show and search)", ctx)
    given.options.update({key: value for key, value in (("model", model), ("system", system)) if value is not None})
    if question is not None:
        from fireside_tui.cli.ask import ask

        return ask(given, question, resume=resume, newest=newest, agent_file=agent_file, as_json=as_json)
    from fireside_tui.cli.screen import open_app

    return open_app(given, resume=resume, newest=newest, agent_file=agent_file)


def _refuse_options(ctx: click.Context) -> None:
    """Options of the app say nothing to a subcommand: better told than ignored."""
    given = click.core.ParameterSource.COMMANDLINE
    for parameter in ctx.command.params:
        name = parameter.name or ""
        if parameter.expose_value and ctx.get_parameter_source(name) is given:
            told = (
                "put --json behind the command" if name == "as_json" else f"{parameter.opts[-1]} is for the app and -p"
            )
            raise click.UsageError(f"{told} (the command here is {ctx.invoked_subcommand!r})", ctx)
