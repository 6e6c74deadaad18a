"""A terminal of tmux with imdump browse in it, and what stands on it."""
import os
import re
import shlex
import subprocess
import time

# A loaded machine is slow; what is there is seen at once.
DEADLINE = float(os.environ.get("IMDUMP_DEADLINE", 60))


class Bench:
    """What every check needs: the command, the samples, a folder, and terminals that are closed behind the check."""

    def __init__(self, binary, samples, folder):
        self.binary, self.samples, self.folder = binary, samples, folder
        self.cache = os.path.join(folder, "cache")
        self.terminals = []
        self.stores = {}
        self.count = 0
        # Which keys were pressed on which screen.
        self.pressed = set()

    def sample(self, name):
        return os.path.join(self.samples, name)

    def imdump(self, *words):
        """Runs the command without a terminal; gives what it prints."""
        run = subprocess.run([self.binary, *words], capture_output=True, text=True, timeout=DEADLINE, stdin=subprocess.DEVNULL)
        return run

    def store(self, capture, *options):
        """The path of a store of a capture."""
        key = (capture, options)
        if key not in self.stores:
            path = os.path.join(self.folder, "store-%d.db" % len(self.stores))
            run = self.imdump("index", "-q", capture, "-o", path, *options)
            assert run.returncode == 0, run.stderr
            self.stores[key] = path
        return self.stores[key]

    def terminal(self, *words, width=80, height=24, environment=None, shell=False, within=(), folder=None):
        """A terminal in which `imdump browse` runs with these words; with `shell`, a shell that has run it. `within` is a command
        that runs it, `folder` where it runs."""
        self.count += 1
        terminal = Terminal(self, "imdump-%d-%d" % (os.getpid(), self.count), width, height)
        self.terminals.append(terminal)
        variables = {"XDG_CACHE_HOME": self.cache, "TZ": "UTC", "LC_ALL": "C.UTF-8", "PS1": "ready$ "}
        variables.update(environment or {})
        terminal.start(words, variables, shell, within, folder)
        return terminal

    def close(self):
        for terminal in self.terminals:
            terminal.close()
        self.terminals = []


class Terminal:
    def __init__(self, bench, name, width, height):
        self.bench, self.name, self.width, self.height = bench, name, width, height

    def tmux(self, *words):
        return subprocess.run(["tmux", "-L", self.name, *words], capture_output=True, text=True, timeout=DEADLINE)

    def start(self, words, variables, shell, within=(), folder=None):
        # A shell of which nothing is read, so that every terminal is the same.
        command = " ".join(shlex.quote(word) for word in [*within, self.bench.binary, "browse", *words])
        environment = " ".join("%s=%s" % (name, shlex.quote(value)) for name, value in variables.items())
        run = self.tmux(
            "-f", "/dev/null", "new-session", "-d", *(["-c", folder] if folder else []), "-x", str(self.width), "-y", str(self.height), "-s", "t",
            "env %s bash --norc --noprofile" % environment)
        assert run.returncode == 0, run.stderr
        self.wait(r"^ready\$")
        self.command = command
        if not shell:
            self.type(" " + command + "; echo status=$?")
            self.press("Enter")

    def close(self):
        self.tmux("kill-server")

    def resize(self, width, height):
        self.width, self.height = width, height
        self.tmux("resize-window", "-t", "t", "-x", str(width), "-y", str(height))

    def press(self, *keys):
        """Presses keys, by tmux's names of them."""
        screen = screen_of(self.lines())
        for _ in range(3):
            if screen:
                break
            # A frame may have been painted in part.
            time.sleep(0.02)
            screen = screen_of(self.lines())
        self.bench.pressed.update((screen, key) for key in keys)
        # A key after its prefix is one key of help.
        self.bench.pressed.update((screen, "'" + key) for prefix, key in zip(keys, keys[1:]) if prefix == "'")
        self.tmux("send-keys", "-t", "t", *keys)

    def type(self, text):
        """Sends text as it is."""
        self.tmux("send-keys", "-t", "t", "-l", "--", text)

    def mouse(self, button, row, column):
        """What a terminal sends of a click or a turn of the wheel; places count from 0."""
        self.type("\x1b[<%d;%d;%dM" % (button, column + 1, row + 1))

    def lines(self):
        return self.tmux("capture-pane", "-t", "t", "-p").stdout.split("\n")[: self.height]

    def text(self):
        return "\n".join(self.lines())

    def wait(self, wanted, absent=None):
        """Waits until the text that a pattern or a function finds is there; gives the lines."""
        test = wanted if callable(wanted) else lambda text: re.search(wanted, text, re.M)
        end = time.monotonic() + DEADLINE
        while True:
            text = self.text()
            if test(text) and not (absent and re.search(absent, text, re.M)):
                return text.split("\n")
            if time.monotonic() > end:
                raise AssertionError("waited for %r; there is\n%s" % (wanted if isinstance(wanted, str) else wanted.__doc__ or "what a function looks for", text))
            time.sleep(0.02)

    def process(self):
        """The number of the process that browses."""
        pane = self.tmux("display-message", "-t", "t", "-p", "#{pane_pid}").stdout.strip()
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            for child in subprocess.run(["pgrep", "-P", pane], capture_output=True, text=True).stdout.split():
                if os.path.realpath("/proc/%s/exe" % child) == self.bench.binary:
                    return int(child)
            time.sleep(0.02)
        raise AssertionError("nobody browses")

    def ask(self, format):
        """What tmux knows of the terminal."""
        return self.tmux("display-message", "-t", "t", "-p", format).stdout.strip()


# What the bottom line of each screen begins with.
SCREENS = {
    "sessions": "Enter open +l ladder", "messages": "Enter bytes +l ladder", "problems": "Enter open +Esc back",
    "connections": "Enter messages +l ladder", "types": "Enter messages +Esc back",
    "ladder": "Enter bytes +Esc back", "frame": "Tab pane",
}


def screen_of(lines):
    """The name of the screen that a terminal shows; nothing for none."""
    last = next((line for line in reversed(lines) if line.strip()), "")
    for name, hints in SCREENS.items():
        if re.match(" *" + hints, last):
            return name
    return ""


def heading_of(lines):
    """The number of the row with the titles of a list's columns: it follows the tabs, where there are some."""
    for number, line in enumerate(lines):
        if re.match(" 1 Prob", line):
            return number + 1
    return 2


def row_of(lines, pattern):
    """The number of the first line with a pattern."""
    for number, line in enumerate(lines):
        if re.search(pattern, line):
            return number
    raise AssertionError("no line has %r:\n%s" % (pattern, "\n".join(lines)))
