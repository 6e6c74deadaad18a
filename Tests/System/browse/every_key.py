"""Every key that help shows was pressed by some check on the screen that shows it. Runs behind the others."""
import re

from .screens import at_screen
from .terminal import SCREENS

# Keys as help calls them, and as tmux does.
NAMES = {"↑": "Up", "↓": "Down", "←": "Left", "→": "Right", "PgUp": "PageUp", "PgDn": "PageDown", "Esc": "Escape"}


def check_every_key_of_help(bench):
    missing = []
    pressed = set(bench.pressed)
    for name in SCREENS:
        terminal = at_screen(bench, name, height=70)
        terminal.press("?")
        # With its lower edge: a frame may have been painted in part.
        lines = terminal.wait(r"keys and commands[\s\S]*└─+┘")
        labels = []
        for line in lines:
            found = re.search("│ (.*?)  +.*│", line)
            if found and not found.group(1).startswith(":") or found and found.group(1) == ":":
                labels += found.group(1).split(" ")
        assert len(labels) > 20, (name, lines)
        for label in labels:
            key = NAMES.get(label) or ("C-" + label[1:].lower() if re.match(r"\^.$", label) else label)
            if (name, key) not in pressed:
                missing.append("%s %s" % (name, label))
        bench.close()
    assert not missing, "no check presses: " + ", ".join(missing)
