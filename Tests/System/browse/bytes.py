"""The bytes and fields of a message."""
import os
import re
import shutil

BYTES = re.compile(r"([0-9a-f]{4})  ((?:(?:[0-9a-f]{2}|--) ){1,16})")


def shown(lines):
    """The bytes on the screen, as hexadecimal digits."""
    return "".join(match.group(2).replace(" ", "") for line in lines if (match := BYTES.search(line)))


def opened(bench, name, message, *options, **size):
    terminal = bench.terminal(bench.sample(name), *options, **{"width": 120, "height": 40, **size})
    terminal.wait("by problems", absent="●")
    terminal.press("a")
    terminal.wait(r"^ messages of all sessions.*\n. +1 ")
    for _ in range(message - 1):
        terminal.press("Down")
    terminal.wait("message %d " % message)
    terminal.press("Enter")
    terminal.wait("^ message %d  " % message)
    terminal.wait(lambda text: shown(text.split("\n")))
    return terminal


def highlighted(terminal):
    """How many bytes in hexadecimal are in reverse."""
    count = 0
    for line in terminal.tmux("capture-pane", "-t", "t", "-p", "-e").stdout.split("\n"):
        match = re.search(r"(?<![0-9a-f])[0-9a-f]{4}(?![0-9a-f])", re.sub(r"\x1b\[[0-9;]*m", "", line)[47:60])
        if not match:
            continue
        column, reverse = 0, False
        for part in re.split(r"(\x1b\[[0-9;]*m)", line):
            if part.startswith("\x1b"):
                for number in part[2:-1].split(";"):
                    reverse = True if number == "7" else False if number in ("", "0", "27") else reverse
                continue
            for character in part:
                # Where the first digit of a byte is.
                place = column - (120 - 71) - 6
                if reverse and 0 <= place < 48 and place % 3 == 0 and character != " ":
                    count += 1
                column += 2 if ord(character) > 0x2E80 else 1
    return count


def check_bytes_are_those_of_the_capture(bench):
    for name, message in [("tjp-article-chat.pcap", 5), ("mqtt-mosquitto.pcap", 3), ("jt808-terminals.pcap", 2),
                          ("diameter-charging.pcap", 1)]:
        terminal = opened(bench, name, message)
        store = bench.store(bench.sample(name))
        row = bench.imdump("query", store, "SELECT packet, conn FROM messages WHERE id = %d" % message, "--format", "csv")
        packet, connection = row.stdout.splitlines()[1].split(",")
        printed = bench.imdump(
            bench.sample(name), "-q", "--print", "-X", "-Y", "number == %s and conn == %s" % (packet, connection)).stdout
        wanted = "".join(re.sub(r"\s", "", line[9:49]) for line in printed.splitlines() if re.match(r"\t0x", line))
        found = shown(terminal.lines())
        assert len(found) > 20 and wanted.startswith(found), (name, found, wanted)
        terminal.close()


def check_a_field_highlights_its_bytes(bench):
    terminal = opened(bench, "tjp-article-chat.pcap", 5)
    terminal.press("End")
    terminal.wait("text   17 bytes at 34")
    terminal.wait(lambda text: highlighted(terminal) == 17)
    terminal.press("Home")
    terminal.wait("header   28 bytes at 0")
    terminal.wait(lambda text: highlighted(terminal) == 28)


def check_a_byte_selects_its_field(bench):
    terminal = opened(bench, "tjp-article-chat.pcap", 5)
    terminal.press("Tab", "Down")
    terminal.wait("encryption   1 byte at 16")
    terminal.press("Right", "Right", "Right")
    terminal.wait("session   2 bytes at 18")
    terminal.press("Right")
    terminal.wait("length   4 bytes at 20")
    terminal.press("Down")
    terminal.wait("text   17 bytes at 34")
    terminal.press("Up", "Up", "Left")
    terminal.wait(r"^ \S+   \d+ bytes? at ")
    terminal.press("Escape")
    terminal.wait("message 5   packet")


def check_what_is_secret_is_not_shown(bench):
    terminal = opened(bench, "smpp-gateway.pcap", 1)
    lines = terminal.wait("password")
    assert re.search(r"password +not shown", "\n".join(lines)), lines
    assert "--" in shown(lines), lines


def check_sizes(bench):
    terminal = opened(bench, "tjp-article-chat.pcap", 5)
    for width, height in [(80, 24), (40, 10), (200, 60)]:
        terminal.resize(width, height)
        terminal.wait(lambda text: len(text.split("\n")) >= height and text.split("\n")[height - 1].rstrip().endswith("quit"))
    terminal.wait("de ca fb ad")


def check_a_capture_that_is_gone(bench):
    path = os.path.join(bench.folder, "gone.pcap")
    shutil.copy(bench.sample("tjp-clean-chat.pcap"), path)
    store = bench.store(path)
    os.unlink(path)
    terminal = bench.terminal(store)
    terminal.wait("by problems")
    terminal.press("a")
    terminal.wait(r"^ messages of all sessions.*\n. +1 ")
    terminal.press("Enter")
    terminal.wait("gone.pcap: ")
    terminal.wait("messages of all sessions")
