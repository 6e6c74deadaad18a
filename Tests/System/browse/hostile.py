"""Names and texts that would command a terminal."""
import os
import re

from . import traffic

NAMES = [
    "clear\x1b[2J\x1b[Hgone", "title\x1b]0;owned\x07", "c1\u009b2Jgone", "nul\x00bell\x07back\x08\x08", "line\r\nfeed\tx", "right\u202etfel",
    "answer\x1b[6n\x1b[c\x1bP$q\x1b\\", "alt\x1b[?1049l", "mouse\x1b[?1000l", "wrap\x1b[?7h", "hidden\u200b\u2066x", "del\x7f",
    "\x1bc", "\x0e\x0f", "last",
]


WORDS = ["\x1b[2Jtext\x1b]0;x\x07 \u009b2J \r\n", b"\x1b[31m\xff\xfe"]


def check_nothing_of_it_reaches_the_terminal(bench):
    path = traffic.write(os.path.join(bench.folder, "hostile.pcap"), NAMES, WORDS, topics=WORDS)
    terminal = bench.terminal(bench.store(path, "--payload"), width=140, height=50)
    wanted = "of %d" % len(NAMES)
    terminal.wait(wanted)
    title = terminal.ask("#{pane_title}")
    output = os.path.join(bench.folder, "output")
    terminal.tmux("pipe-pane", "-t", "t", "cat > %s" % output)
    for key in ["?", "Escape", "End", "Home", "s", "C-l", "/"]:
        terminal.press(key)
    terminal.type("gone")
    terminal.wait("filter: gone")
    terminal.press("Escape")
    terminal.wait(wanted, absent="filter:")
    terminal.press("a")
    terminal.wait(r"·\[2Jtext·\]0;")
    terminal.press("Down", "Down", "End", "Home", "!")
    terminal.wait("equivalent command")
    terminal.press("Escape")
    terminal.wait("messages of all sessions", absent="equivalent command")
    terminal.press("Escape")
    lines = terminal.wait(wanted)
    terminal.tmux("pipe-pane", "-t", "t")
    for mark in ["c1·2Jgone", "right·tfel", "hidden··x"]:
        assert any(mark in line for line in lines), (mark, lines)
    assert terminal.ask("#{pane_title}") == title
    assert terminal.ask("#{alternate_on}#{mouse_any_flag}#{wrap_flag}") == "110"
    with open(output, "rb") as file:
        written = file.read()
    # What is written is text and these sequences: the cursor's place, colours, erasing.
    rest = re.sub(rb"\x1b\[(\d+;\d+H|[0-9;]*m|\d+X|2J)", b"", written).decode("utf-8")
    bad = {character for character in rest if ord(character) < 0x20 or 0x7F <= ord(character) < 0xA0 or character in "\u202e\u2066\u200b"}
    assert not bad, bad
    assert len(written) > 2_000
