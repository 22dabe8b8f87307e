"""The flags in a command line, for the tools whose help lists them all."""

import re
import shlex
from typing import NamedTuple

SUBCOMMANDS = {
    "git": (
        *(
            "add",
            "branch",
            "checkout",
            "cherry-pick",
            "clean",
            "clone",
            "commit",
            "fetch",
            "init",
            "merge",
            "mv",
            "pull",
        ),
        *("push", "rebase", "reset", "restore", "revert", "rm", "switch", "tag"),
    ),
    "pip": ("install", "uninstall", "download", "freeze", "list", "show", "check", "wheel"),
    "pip3": ("install", "uninstall", "download", "freeze", "list", "show", "check", "wheel"),
    "docker": ("run", "build", "exec", "ps", "pull", "push", "images", "rm", "rmi", "stop", "start", "logs"),
}
"""Of a tool with subcommands, those whose help is complete; git's log and diff families print only a part."""
TOOLS = (*SUBCOMMANDS, "python", "python3", "make", "ls", "grep", "tar", "curl", "cp", "mv", "rm", "mkdir", "sed")
"""Tools whose flags are checked; no other is ever started."""

_VALUED = {"git": ("-C", "-c"), "docker": ("-H", "-c")}
_WRAPPERS = ("sudo", "time", "env", "nohup", "exec", "command")
_SEPARATORS = re.compile(r"\|\|?|&&|;|\n")
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=.*")
_LONG_FLAG = re.compile(r"--[a-zA-Z][\w-]{0,60}")
_SHORT_FLAG = re.compile(r"-[A-Za-z][\w.,:=/-]{0,40}")


class Flag(NamedTuple):
    """One flag of one command."""

    command: tuple[str, ...]
    """The tool and its subcommand, if it has any."""
    name: str
    """``--long`` without its value, or ``-x…`` as written."""


def flags(line: str) -> list[Flag]:
    """The flags in a command line, in order; those of tools that are not in :data:`TOOLS` are left out."""
    found: list[Flag] = []
    if "-" in line and not line.lstrip().startswith("#"):
        for command in _SEPARATORS.split(line):
            try:
                words = shlex.split(command, comments=True)
            except ValueError:
                continue  # an open quotation: a part of a command, not one
            found += _flags(words)
    return found


def _flags(words: list[str]) -> list[Flag]:
    while words and (words[0] in _WRAPPERS or _ASSIGNED.fullmatch(words[0])):
        words = words[1:]
    if not words or words[0] not in TOOLS:
        return []
    tool, words = words[0], words[1:]
    command = (tool,)
    if tool in SUBCOMMANDS:
        while words and words[0].startswith("-"):
            words = words[2 if words[0] in _VALUED.get(tool, ()) else 1 :]
        if not words or words[0] not in SUBCOMMANDS[tool]:
            return []
        command, words = (tool, words[0]), words[1:]
    # What follows a script, a module or an image belongs to that, not to the tool.
    ends_at_word = tool.startswith("python") or command in (("docker", "run"), ("docker", "exec"))
    found: list[Flag] = []
    for word in words:
        if word == "--" or (ends_at_word and not word.startswith("-")):
            break
        long = word.partition("=")[0]
        if _LONG_FLAG.fullmatch(long):
            found.append(Flag(command, long))
        elif _SHORT_FLAG.fullmatch(word):
            found.append(Flag(command, word))
        if tool.startswith("python") and word in ("-c", "-m"):
            break
    return found


def documented(flag: Flag, text: str) -> bool:
    """Whether a help text lists the flag, as itself, as the opposite of one, or as an abbreviation that git takes."""
    if not flag.name.startswith("--"):
        # Short flags may be a cluster or carry a value: the first letter decides.
        return re.search(rf"(?<![\w-])-{re.escape(flag.name[1])}(?!\w)", text) is not None
    name = flag.name.removeprefix("--")
    names = {name, name.removeprefix("no-"), f"no-{name}"}
    known = set(known_flags(text))
    return bool(names & known) or (flag.command[0] == "git" and any(other.startswith(name) for other in known))


def known_flags(text: str) -> list[str]:
    """The long flags that a help text lists, without their hyphens."""
    return re.findall(r"(?<![\w-])--(?:\[no-\])?([a-zA-Z][\w-]*)", text)
