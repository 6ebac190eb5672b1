"""Every command once: its name, keys, help and where it applies. Footer, F1, palette and `/command` all come from here.

A command called `name` is carried out by the method `do_name` of the main screen, which gets what follows `/name`.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Where = Literal["anywhere", "list", "filter", "message", "approval"]
Group = Literal["Conversation", "Message", "Setting", "App", "In the list", "On a message", "On a tool call"]


class Command(NamedTuple):
    """Something that a person can do.

    `argument` says what may follow the `/command`; `short` is its word in the footer; without `slash` it is no
    `/command` and not in the palette. `needs` is what a message must have for it, one of the transcript's `abilities`: the
    footer shows it for such messages alone.
    """

    name: str
    title: str
    help: str
    group: Group
    keys: tuple[str, ...] = ()
    where: Where = "anywhere"
    argument: str = ""
    short: str = ""
    slash: bool = True
    needs: str = ""

    @property
    def slash_name(self) -> str:
        """Its name after the `/`."""
        return self.name.replace("_", "-")


COMMANDS: tuple[Command, ...] = (
    Command("new", "New conversation", "Starts a new conversation", "Conversation", ("ctrl+n",), short="New"),
    Command("list", "Conversations", "Goes to the list, and back", "Conversation", ("ctrl+o",), short="List"),
    Command("search", "Search everything", "Finds words in all conversations", "Conversation", ("ctrl+f",),
            argument="words", short="Search"),
    Command("find", "Find here", "Finds words in this conversation", "Conversation", argument="words"),
    Command("find_next", "Next place", "Goes to the next place that was found here", "Conversation", ("f3",)),
    Command("find_back", "Place before", "Goes to the place before", "Conversation", ("shift+f3", "f15")),
    Command("rename", "Rename", "Gives the conversation another title", "Conversation", argument="title"),
    Command("pin", "Pin or unpin", "Keeps the conversation at the top of the list", "Conversation"),
    Command("fork", "Fork", "Copies the conversation, to go two ways from here", "Conversation"),
    Command("export", "Export", "Writes the conversation to a file: .md or .json", "Conversation", argument="file"),
    Command("copy_id", "Copy id", "Copies the id of the conversation", "Conversation"),
    Command("checkpoint", "Checkpoint", "Names this point, to come back to", "Conversation", argument="name"),
    Command("rewind", "Rewind", "Goes back to before a message, or to a checkpoint; what came after can still be read",
            "Conversation", argument="name"),
    Command("compact", "Compact now", "Lets a summary take the place of what Claude remembers", "Conversation"),
    Command("delete", "Delete", "Deletes the conversation, after asking", "Conversation"),
    Command("undo", "Undo delete", "Brings the conversation back that was deleted last", "Conversation"),
    Command("stop", "Stop", "Stops the answer; what came stays", "Message", ("escape",), short="Stop"),
    Command("retry", "Continue or retry", "Continues an interrupted run, or asks again", "Message", ("ctrl+r",)),
    Command("edit", "Edit and send again", "Changes your last message in a fork; the old branch stays", "Message"),
    Command("copy", "Copy answer", "Copies the last answer", "Message"),
    Command("copy_code", "Copy code", "Copies a code block of the last answer", "Message", argument="number"),
    Command("attach", "Attach a file", "Sends a picture or a text file along", "Message", argument="file"),
    Command("detach", "Detach files", "Takes the attached files away", "Message"),
    Command("pager", "Open in pager", "Shows the last answer in $PAGER", "Message"),
    Command("editor", "Open editor", "Writes the message in $EDITOR", "Message", ("ctrl+g",)),
    Command("approval", "Answer a tool call", "Goes to the tool call that waits for your answer", "Message", ("f2",),
            short="Answer"),
    Command("model", "Model", "Picks the model of this conversation", "Setting", argument="name"),
    Command("system", "System prompt", "What Claude is told before this conversation", "Setting", argument="text"),
    Command("effort", "Effort", "How hard Claude thinks here: low, medium, high, xhigh, max", "Setting", argument="level"),
    Command("theme", "Theme", "Picks the colours", "Setting", argument="name"),
    Command("thinking", "Show or fold thinking", "Shows what Claude thought, or folds it", "Setting", ("ctrl+t",)),
    Command("tools", "Tools on or off", "Lets Claude call tools, or not", "Setting", argument="on or off"),
    Command("allow", "Allow a tool", "A tool that runs in this conversation without asking", "Setting", argument="tool"),
    Command("demo", "Offline demo", "Talks to the demo: no key, no network", "Setting"),
    Command("server", "Local server", "Uses a server that speaks the Messages API", "Setting", argument="address model"),
    Command("palette", "All commands", "Finds any command", "App", ("ctrl+p",), short="Commands", slash=False),
    Command("help", "Help", "All keys and commands", "App", ("f1",), short="Help"),
    Command("copy_or_stop", "Copy, or stop", "Copies what is selected, else stops the answer", "App", ("ctrl+c",),
            slash=False),
    Command("suspend", "Suspend", "Back to the shell; fg comes back", "App", ("ctrl+z",), slash=False),
    Command("quit", "Quit", "Saves and quits", "App", ("ctrl+q",), short="Quit"),
    Command("list_open", "Open", "Opens the conversation", "In the list", ("enter",), "list", short="Open", slash=False),
    Command("list_filter", "Filter titles", "Shows only titles with these words", "In the list",
            ("slash",), "list", short="Filter", slash=False),
    Command("list_delete", "Delete", "Deletes it, after asking", "In the list", ("d", "delete"), "list", short="Delete",
            slash=False),
    Command("list_undo", "Undo delete", "Brings back what was deleted last", "In the list", ("u",), "list", slash=False),
    Command("list_rename", "Rename", "Gives it another title", "In the list", ("r",), "list", short="Rename", slash=False),
    Command("list_pin", "Pin", "Keeps it at the top", "In the list", ("p",), "list", short="Pin", slash=False),
    Command("list_fork", "Fork", "Copies it", "In the list", ("f",), "list", short="Fork", slash=False),
    Command("list_export", "Export", "Writes it to a file", "In the list", ("e",), "list", short="Export", slash=False),
    Command("filter_search", "Search the texts", "In the filter: finds its words in all texts", "In the list", ("enter",),
            "filter", short="Search the texts", slash=False),
    Command("filter_rows", "To the titles", "In the filter: goes to the titles that it shows, where Enter opens", "In the list",
            ("down",), "filter", short="To the titles", slash=False),
    Command("message_unfold", "Unfold", "Opens a tool call or thinking, or folds it again", "On a message",
            ("enter", "space"), "message", short="Unfold", slash=False, needs="folded"),
    Command("message_copy", "Copy", "Copies the message", "On a message", ("c",), "message", short="Copy", slash=False,
            needs="text"),
    Command("message_code", "Copy code", "Copies its code blocks", "On a message", ("b",), "message", short="Copy code",
            slash=False, needs="code"),
    Command("message_edit", "Edit", "Edits your message and sends it again, in a fork", "On a message", ("e",), "message",
            short="Edit", slash=False, needs="own"),
    Command("message_fork", "Fork here", "A new conversation with all up to this message", "On a message", ("f",),
            "message", short="Fork", slash=False, needs="entry"),
    Command("message_pager", "Pager", "Shows the message in $PAGER", "On a message", ("o",), "message", short="Pager",
            slash=False, needs="text"),
    Command("message_links", "Links", "Lists the links in the message", "On a message", ("l",), "message", short="Links",
            slash=False, needs="links"),
    Command("select_all", "Select all", "Selects the whole conversation; Ctrl+C copies it", "On a message", ("ctrl+a",),
            "message", short="Select all"),
    Command("approve_yes", "Yes", "Lets the tool run", "On a tool call", ("y",), "approval", short="Yes", slash=False),
    Command("approve_no", "No", "Refuses the call", "On a tool call", ("n",), "approval", short="No", slash=False),
    Command("approve_always", "Always", "Lets this tool run in this conversation from now on", "On a tool call", ("a",),
            "approval", short="Always", slash=False),
    Command("approve_reason", "No, because …", "Refuses with a reason that Claude reads", "On a tool call", ("r",),
            "approval", short="No, because …", slash=False),
    Command("approve_show", "Show all", "Shows the call with all of its arguments, to scroll", "On a tool call", ("v",),
            "approval", short="Show all", slash=False),
)  # fmt: skip

BY_NAME = {command.name: command for command in COMMANDS}

KEY_NAMES = {
    "escape": "Esc", "enter": "Enter", "slash": "/", "delete": "Del", "up": "↑", "down": "↓", "tab": "Tab",
    "f15": "Shift+F3",  # as Textual names it from a terminal without kitty's keys
}  # fmt: skip


def key_name(key: str) -> str:
    """A key as a person knows it.

    >>> key_name("ctrl+n"), key_name("f1"), key_name("d")
    ('Ctrl+N', 'F1', 'd')
    """
    parts = key.split("+")
    name = parts[-1]
    last = KEY_NAMES.get(name, name.upper() if len(parts) > 1 or name[1:].isdigit() else name)
    return "+".join([*(part.capitalize() for part in parts[:-1]), last])


def at(where: Where) -> list[Command]:
    """The commands of one place."""
    return [command for command in COMMANDS if command.where == where]


def on_message(abilities: frozenset[str]) -> list[Command]:
    """The commands that do something with a message that has these abilities."""
    fit = [command for command in at("message") if not command.needs or command.needs in abilities]
    if "unfolded" in abilities:
        fit.insert(0, BY_NAME["message_unfold"]._replace(short="Fold"))
    return fit


def slash_commands(start: str = "") -> list[Command]:
    """The `/commands` whose names begin so; one that is named in full comes first."""
    found = [command for command in COMMANDS if command.slash and command.slash_name.startswith(start.lower())]
    return sorted(found, key=lambda command: command.slash_name != start.lower())


def parse(text: str) -> tuple[Command | None, str] | None:
    """The `/command` that a message is, and what follows it; `None` for a message.

    A first word such as `/etc/hosts` is no command. The command is `None` where there is none of that name.

    >>> parse("/rename My title")[1], parse("/etc/hosts says"), parse("hello")
    ('My title', None, None)
    """
    if not text.startswith("/"):
        return None
    word, _, rest = text[1:].partition(" ")
    if "\n" in word or not word.replace("-", "").isalpha():
        return None
    found = [command for command in COMMANDS if command.slash and command.slash_name == word.lower()]
    return (found[0] if found else None), rest.strip()
