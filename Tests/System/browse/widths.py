"""What stands behind wide, joined and doubtful characters stays in its column, whatever was there before."""
import os

from . import traffic

NAMES = [
    "plain", "张三", "李雷👍", "👍🏽tone", "family👨‍👩‍👧", "flag🇩🇪", "picture🖼️", "key1️⃣", "cafe\u0301", "हिन्दी", "ไทยก็", "한국어", "ｆｕｌｌ",
    "☺️☹️", "עברית", "a" * 60, "晚上吃什么" * 12, "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "e" + "\u0301" * 40, "end",
]


def capture(bench):
    path = os.path.join(bench.folder, "widths.pcap")
    return path if os.path.exists(path) else traffic.write(path, NAMES, ["晚上吃什么 👨‍👩‍👧", "🖼️ picture", "hi"])


def check_borders_stay(bench):
    """The box of help is drawn over names of all kinds and goes again; its borders are in the same columns in every row."""
    terminal = bench.terminal(bench.store(capture(bench)), width=100)
    terminal.wait("%d of %d" % (len(NAMES), len(NAMES)))
    reference = cells_of(terminal)
    for _ in range(3):
        terminal.press("?")
        terminal.wait("─ keys|keys ─")
        edges = [line_edges(line) for line in cells_of(terminal) if edges_in(line)]
        assert len(set(edges)) == 1, edges
        terminal.press("Escape")
        terminal.wait("%d of %d" % (len(NAMES), len(NAMES)), absent="keys and commands")
        for row, (before, behind) in enumerate(zip(reference, cells_of(terminal))):
            assert tail(before) == tail(behind), (row, before, behind)


def check_columns_stay_while_rows_move(bench):
    """The client's address begins in the same column in every row, whatever stood in the row before."""
    terminal = bench.terminal(bench.store(capture(bench)), width=100, height=14)
    terminal.wait("%d of %d" % (len(NAMES), len(NAMES)))
    for key in ["Down"] * 18 + ["s", "r", "s", "r"] + ["Up"] * 18 + ["/"]:
        terminal.press(key)
        terminal.wait(lambda text: True)
    terminal.press("Escape")
    terminal.wait("%d of %d" % (len(NAMES), len(NAMES)))
    terminal.press("C-l")
    terminal.wait("%d of %d" % (len(NAMES), len(NAMES)))
    places = {line.find(chr(1)) for line in cells_of(terminal, "10.0.0.") if chr(1) in line}
    assert len(places) == 1, places


def check_messages_with_text(bench):
    terminal = bench.terminal(bench.store(capture(bench), "--payload"), width=100)
    terminal.wait("%d of %d" % (len(NAMES), len(NAMES)))
    terminal.press("a")
    terminal.wait("晚上吃")
    for key in ["Down"] * 6 + ["End", "Up", "Up", "Home"]:
        terminal.press(key)
    terminal.wait("晚上吃")


def check_wrapped_texts(bench):
    """Each text is whole, in lines that fit, whatever its characters; what stands above the selected message moves nothing."""
    words = ["晚上吃什么 👨‍👩‍👧 plain words " * 12, "🖼️ picture", "x" * 300, "李雷👍 한국어 é " * 9]
    path = traffic.write(os.path.join(bench.folder, "wrapped.pcap"), ["a", "b"], words)
    terminal = bench.terminal(bench.store(path, "--payload"), width=100, height=60)
    terminal.wait("2 of 2")
    terminal.press("a")
    terminal.wait("晚上吃")
    for width, height in [(100, 60), (60, 60), (41, 60)]:
        terminal.resize(width, height)
        terminal.press("Home")
        terminal.press("W")

        def whole(text):
            lines = text.split("\n")
            plain = "".join("".join(line.split()) for line in lines if line.startswith("    "))
            return "texts are wrapped" in text and all("".join(words[i].split()) in plain for i in (0, 2, 3))
        whole.__doc__ = "whole texts in %d columns" % width
        terminal.wait(whole)
        terminal.press("W")
        terminal.wait("texts are cut")
    terminal.type(":wrap\n")
    terminal.wait("texts are wrapped")


def edges_in(line):
    return line.count("│") == 2


def line_edges(line):
    first = line.find("│")
    return first, line.find("│", first + 1)


def tail(line):
    """What stands behind the name's column."""
    return "".join(line)[32:].rstrip()


def cells_of(terminal, marked=None):
    """The screen's rows with a character for each cell, as tmux has them: each row is read from the column on that follows a
    character that is certain. What tmux prints has no second halves, so they are put in by the width that tmux gives."""
    rows = []
    for line in terminal.lines():
        row = ""
        for cluster in clusters(line):
            row += cluster[0] + ("\0" if wide(cluster) else "")
        if marked:
            row = row.replace(marked, chr(1) + marked[1:])
        rows.append(row)
    return rows


def clusters(line):
    """What tmux keeps in one cell: a character with the marks, selectors and joined characters behind it."""
    found = []
    for character in line:
        joins = found and (zero(character) or found[-1][-1] == "\u200d" or "\U0001f3fb" <= character <= "\U0001f3ff")
        if joins:
            found[-1] += character
        else:
            found.append(character)
    return found


def zero(character):
    import unicodedata
    return unicodedata.category(character) in ("Mn", "Me", "Cf") or 0xFE00 <= ord(character) <= 0xFE0F


def wide(cluster):
    import unicodedata
    return unicodedata.east_asian_width(cluster[0]) in "WF" and not "\U0001f1e6" <= cluster[0] <= "\U0001f1ff"
