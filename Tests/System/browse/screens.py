"""Each key of help on each screen, the ladder, figures over time, and commands."""
import re

from .keys import opened, selected, wait_selected
from .terminal import SCREENS, heading_of, row_of, screen_of

# How each screen is reached from the list of sessions.
WAYS = {
    "sessions": [], "messages": [("Enter", "messages")], "problems": [("P", "problems")], "ladder": [("l", "ladder")],
    "frame": [("Enter", "messages"), ("Enter", "frame")], "connections": [("3", "connections")], "types": [("5", "types")],
}


def shown(terminal, name, **options):
    """Waits for a screen, and for what is on it."""
    def there(text):
        return screen_of(text.split("\n")) == name and not re.search("opening…|reading the capture", text)
    there.__doc__ = "the screen of " + name
    return terminal.wait(there, **options)


def at_screen(bench, name, **options):
    """A terminal that shows a screen."""
    terminal = opened(bench, **options)
    for key, reached in WAYS[name]:
        terminal.press(key)
        shown(terminal, reached)
    return terminal


def place(terminal, name):
    """What is selected, as text: of bytes and fields, what the line beneath says."""
    return terminal.lines()[-2] if name == "frame" else selected(terminal)


def graph(terminal):
    """The row with metrics over time: on home the one above the time axis, else the one beneath the title."""
    lines = terminal.lines()
    return lines[max(1, heading_of(lines) - 3)]


def check_moving_on_each_screen(bench):
    for name in SCREENS:
        terminal = at_screen(bench, name)

        def moved(before, is_other):
            def test(text):
                return (place(terminal, name) != before) == is_other
            test.__doc__ = "%s: another row than %r: %s" % (name, before, is_other)
            terminal.wait(test)
        terminal.press("Home")
        terminal.wait(lambda text: place(terminal, name).strip())
        first = place(terminal, name)
        if name == "ladder":
            terminal.wait(lambda text: "connection #" in selected(terminal))
            first = selected(terminal)
        for there, back in [("Down", "Up"), ("j", "k"), ("PageDown", "PageUp"), ("C-f", "C-b"), ("Space", "PageUp"),
                            ("End", "Home"), ("G", "g")]:
            if (name, there) == ("messages", "Space"):
                continue  # selects the message
            terminal.press(there)
            moved(first, True)
            terminal.press(back)
            moved(first, False)
        bench.close()


def check_general_keys_on_each_screen(bench):
    for name in SCREENS:
        terminal = at_screen(bench, name)
        strip = graph(terminal)
        terminal.press("]")
        one = re.search("range: (\\S+ to \\S+)", "\n".join(terminal.wait("range: "))).group(1)
        terminal.press("}")
        terminal.wait("range: ", absent=one)
        terminal.press("{")
        terminal.wait("range: " + one)
        terminal.press("]")
        terminal.wait("range: ", absent=one)
        terminal.press("[")
        terminal.wait("range: " + one)
        terminal.press("Escape")
        shown(terminal, name, absent="range: ")
        for style in ["block", "ascii", "braille"]:
            terminal.press("v")
            terminal.wait("metrics over time: " + style)
        terminal.wait(lambda text: graph(terminal) == strip)
        terminal.press(":")
        terminal.wait("^ :")
        terminal.press("Escape")
        shown(terminal, name)
        terminal.press("!")
        terminal.wait("equivalent command")
        terminal.press("Escape")
        shown(terminal, name, absent="equivalent command")
        terminal.press("m")
        terminal.wait("the mouse selects text")
        terminal.press("m")
        terminal.wait("the mouse selects rows")
        terminal.press("C-l")
        shown(terminal, name)
        for key in ["?", "F1"]:
            terminal.press(key)
            terminal.wait("keys and commands")
            terminal.press("Escape")
            shown(terminal, name, absent="keys and commands")
        terminal.press("C-z")
        terminal.wait("Stopped")
        terminal.type("fg\n")
        shown(terminal, name, absent="Stopped")
        for key in ["q", "C-c"]:
            terminal.press(key)
            terminal.wait(r"^ready\$ *$", absent="Stopped.*\\n.*fg$")
            if key == "q":
                bench.close()
                terminal = at_screen(bench, name)
        bench.close()


def check_the_way_back(bench):
    for name, keys in [("messages", "Escape BSpace Left h"), ("problems", "Escape BSpace Left h"),
                       ("connections", "Escape BSpace Left h"), ("types", "Escape BSpace Left h"),
                       ("ladder", "Escape BSpace Left h"), ("frame", "Escape BSpace")]:
        for key in keys.split():
            terminal = at_screen(bench, name)
            terminal.press(key)
            shown(terminal, "messages" if name == "frame" else "sessions")
            bench.close()


def check_following_by_key(bench):
    terminal = at_screen(bench, "messages")
    terminal.wait("message 1 ", absent="▼")
    terminal.press("f")
    terminal.wait("▼ following")
    terminal.press("Up")
    shown(terminal, "messages", absent="▼ following")
    terminal.press("f")
    terminal.wait("▼ following")
    terminal.press("f")
    shown(terminal, "messages", absent="▼ following")


def check_opening_by_either_key(bench):
    for name, to in [("messages", "frame"), ("problems", "messages"), ("ladder", "frame"), ("connections", "messages"),
                     ("types", "messages")]:
        for key in ["Enter", "Right"] + ["l"] * (name in ["problems", "types"]):
            terminal = at_screen(bench, name)
            terminal.press(key)
            shown(terminal, to)
            terminal.press("Escape")
            shown(terminal, name)
            bench.close()


def check_bytes_one_by_one(bench):
    terminal = at_screen(bench, "frame")
    for there, back in [("Right", "Left"), ("l", "h")]:
        before = place(terminal, "frame")
        terminal.press("Tab", "Down")
        terminal.wait(lambda text: place(terminal, "frame") != before)
        middle = place(terminal, "frame")
        for _ in range(8):
            terminal.press(there)
        terminal.wait(lambda text: place(terminal, "frame") != middle)
        for _ in range(8):
            terminal.press(back)
        terminal.wait(lambda text: place(terminal, "frame") == middle)
        terminal.press("BTab", "Home")
        terminal.wait(lambda text: place(terminal, "frame") == before)


def steps(lines):
    """The lines of a ladder's text but for the words on the arrows: what came at once is in the order of its numbers."""
    found, first = [], None
    for line in lines:
        match = re.match(r"^ *([+-][\d.]+)(?: +\d+)? +([RD!?]\d*)? *[│|](.*)[│|] *(.*?)…? *$", line)
        if not match or not re.search("[←→]", match.group(3)):
            continue
        first = float(match.group(1)) if first is None else first
        number = re.search(r" (\d+)", match.group(3)).group(1)
        found.append((number, "←" in match.group(3), float(match.group(1)) - first, match.group(2) or "", match.group(4)))
    return sorted(found)


def check_the_ladder_is_that_of_imdump_ladder(bench):
    """Two witnesses: the command decodes the capture, and the browser asks the store. Where copies of a message are sent on several
    connections at once they differ, as docs/browse.md says."""
    for sample, connections in [("tjp-weak-network.pcap", [1, 2, 3])]:
        capture = bench.sample(sample)
        for connection in connections:
            printed = bench.imdump("ladder", capture, "--conn", str(connection), "--rows", "100000")
            wanted = steps(printed.stdout.split("\n"))
            assert len(wanted) > 5, printed
            terminal = bench.terminal(bench.store(capture), width=200, height=400)
            terminal.wait("by problems")
            terminal.type(":ladder %d\n" % connection)
            lines = shown(terminal, "ladder")
            seen = steps(lines)
            assert len(seen) == len(wanted) < 390, (sample, connection, len(seen), len(wanted))
            for mine, other in zip(seen, wanted):
                assert mine[:2] + mine[3:] == other[:2] + other[3:] and abs(mine[2] - other[2]) < 0.0025, (mine, other)
            bench.close()


def check_problems_in_the_ladder(bench):
    terminal = at_screen(bench, "ladder")
    terminal.press("n")
    terminal.wait(lambda text: "data 14209859" in selected(terminal))
    terminal.press("n")
    terminal.wait(lambda text: "data 14209862" in selected(terminal))
    terminal.press("N")
    terminal.wait(lambda text: "data 14209859" in selected(terminal))


def check_times_of_the_ladder(bench):
    terminal = at_screen(bench, "ladder")
    terminal.wait(r"^ +\+2\.000 +│─+ data 14209857 ")
    terminal.press("t")
    lines = terminal.wait(r"^08:53:22\.310 +│─+ data 14209857 |^ +08:53:22\.310 +│─+ data 14209857 ")
    assert not re.search(r"^ +\+\d", "\n".join(lines), re.M)
    terminal.press("t")
    terminal.wait(r"^ +\+2\.000 +│─+ data 14209857 ")


def check_a_ladder_of_a_message(bench):
    terminal = opened(bench)
    terminal.press("a")
    shown(terminal, "messages")
    terminal.press("n")
    wait_selected(terminal, r"^R +11 ")
    terminal.press("l")
    shown(terminal, "ladder")
    terminal.wait("connection #1 ")
    terminal.wait(lambda text: "data 14209859" in selected(terminal))
    terminal.press("!")
    terminal.wait("imdump ladder .* --conn 1")
    terminal.press("Escape")
    shown(terminal, "ladder", absent="equivalent command")
    terminal.press("Escape")
    shown(terminal, "messages")
    wait_selected(terminal, r"^R +11 ")


def check_pauses_and_retries_in_the_ladder(bench):
    terminal = opened(bench, height=100)
    terminal.press("l")
    lines = shown(terminal, "ladder")
    retry = row_of(lines, r"R1 │┄+ data 14209859 retry Δ3\.0 s ┄*→│")
    assert re.search("3.03 s after the first copy", lines[retry + 1]), lines[retry + 1]
    row_of(lines, "┄ [0-9.]+ s without a frame")
    row_of(lines, r"! │─+ data 14209862 ─+→│ no answer \(peer\)")


def check_a_brush_and_back(bench):
    terminal = opened(bench, height=60)
    terminal.press("a")
    shown(terminal, "messages")
    terminal.press("End")
    wait_selected(terminal, r"^. +120 ")
    terminal.press("[")
    terminal.wait("range: ")
    terminal.press(*["["] * 60)
    terminal.press("Enter")
    text = "\n".join(terminal.wait("time: \\S+ to \\S+ .*last page"))
    first, last = re.search("time: (\\S+) to (\\S+)", text).groups()
    times = re.findall(r"^[!R~ ] +\d+ (\d\d:\d\d:\d\d)\.", text, re.M)
    assert times and all(first <= time < last for time in times), (first, last, times)
    terminal.press("!")
    lines = [line.strip("│ ") for line in terminal.wait("equivalent command") if "│" in line]
    command = "".join(re.sub("^ *│ ?| *│ *$", "", line) for line in terminal.lines() if re.search("^ *│.*│ *$", line))
    sql = re.search(r"'(SELECT .*)'", command).group(1)
    store = bench.store(bench.sample("tjp-weak-network.pcap"))
    rows = bench.imdump("query", store, sql, "--format", "csv").stdout.splitlines()[1:]
    assert len(rows) == len(times), (len(rows), len(times), lines)
    terminal.press("Escape")
    shown(terminal, "messages", absent="equivalent command")
    terminal.press("P")
    terminal.wait("kinds? of problem|no problems")
    terminal.press("Escape")
    shown(terminal, "sessions")
    terminal.press("a")
    shown(terminal, "messages")
    terminal.type(":time\n")
    terminal.wait("first page", absent="time: ")


def check_the_cursor_comes_back(bench):
    terminal = opened(bench)
    terminal.press("a")
    shown(terminal, "messages")
    terminal.press("End")
    wait_selected(terminal, r"^. +120 ")
    terminal.press("[", *["["] * 60)
    terminal.press("Enter")
    terminal.wait("time: ", absent="brush")
    terminal.wait(lambda text: not re.match(r"^. +120 ", selected(terminal)))
    terminal.press("Escape")
    terminal.wait("message 120", absent="time: ")
    wait_selected(terminal, r"^. +120 ")


def check_graph_styles(bench):
    for style, signs in [("block", "▁"), ("ascii", "_"), ("braille", "[⠀-⣿]")]:
        terminal = opened(bench, "--graph", style)
        assert re.search("messages.*" + signs, graph(terminal)), graph(terminal)
    for variables, signs in [({"TERM": "linux"}, "_"), ({"LC_ALL": "C"}, "_"), ({}, "[⠀-⣿]")]:
        terminal = opened(bench, environment=variables)
        assert re.search("messages.*" + signs, graph(terminal)), (variables, graph(terminal))
        assert (signs == "_") == (not re.search("[⠁-⣿]", graph(terminal)))


def check_tabs_from_each_screen(bench):
    """Digits show their lists from every screen, and the row of tabs says which one is shown."""
    tabs = ["problems", "sessions", "connections", "messages", "types"]
    for name in SCREENS:
        terminal = at_screen(bench, name)
        for key, tab in enumerate(tabs):
            terminal.press(str(key + 1))
            shown(terminal, tab)
            terminal.press("2")
            shown(terminal, "sessions")
            for way, reached in WAYS[name]:
                terminal.press(way)
                shown(terminal, reached)
        bench.close()


def check_home(bench):
    """Problems and totals are those that commands print, and the preview is of the row that is selected."""
    capture = bench.sample("tjp-weak-network.pcap")
    terminal = bench.terminal(capture)
    lines = terminal.wait(r"to 08:55:08[\s\S]*ACK p50 up 26 ms, down 122 ms", absent="●")
    assert re.search("  2025-10-09 08:53:20 to 08:55:08 UTC *$", lines[0]), lines[0]
    assert lines[1] == " 8 connections (1 refused, 1 timed out, 2 reset), 3 sessions, 51 messages,", lines[1]
    assert lines[2] == " 2 lost, 5 retries, 1 of 13 heartbeats missed, ACK p50 up 26 ms, down 122 ms", lines[2]
    # A mark for each time at which a message was lost.
    terminal.wait(lambda text: graph(terminal).count("!") == 2)
    terminal.wait("session 49147: latest problems")
    terminal.wait(r"^! +19 08:53:29.210 → data ")
    terminal.press("Down", "Down")
    terminal.wait("session 40475: latest problems")
    terminal.wait(r"^R +\d+ .*  R1 ", absent="^! +19 ")


def check_nothing_decoded(bench):
    """Each list says what there is instead, and a command that prints something."""
    capture = bench.sample("tls/tjp-tls13.pcap")
    terminal = bench.terminal(capture, width=160)
    for key in "213452":
        terminal.press(key)
        lines = terminal.wait(r"TLS 1.3 to im\.example[\s\S]*imdump streams \S+", absent="●")
        command = re.search(r"imdump (streams) (\S+)", "\n".join(lines)).groups()
        assert "im.example" in bench.imdump(*command).stdout, lines


def check_connections(bench):
    """The rows are the store's; the filter, the ladder and the messages are those of the connection."""
    store = bench.store(bench.sample("tjp-weak-network.pcap"))
    terminal = opened(bench)
    terminal.press("3")
    lines = shown(terminal, "connections")
    terminal.wait("8 of 8   by problems")
    rows = bench.imdump("query", store, "SELECT id, client, profile, messages, retries, unanswered FROM connection",
                        "--format", "csv")
    for row in rows.stdout.splitlines()[1:]:
        number, client, profile, *counts = row.split(",")
        if not profile:
            counts = ["-"] * 3
        row_of(terminal.lines(), r"^[!R ] +%s \S+ %s .* +%s$" % (number, re.escape(client), " +".join(counts)))
    terminal.press("l")
    shown(terminal, "ladder")
    terminal.wait("connection #1 ")
    terminal.press("Escape")
    shown(terminal, "connections")
    terminal.press("/")
    terminal.type("203.0.113.99 open")
    terminal.press("Enter")
    terminal.wait("filter: 203.0.113.99 open   1 of 8")
    terminal.press("Enter")
    terminal.wait("messages of connection #4 ")
    terminal.press("Escape")
    terminal.wait("filter: 203.0.113.99 open")
    terminal.press("Escape")
    terminal.wait("8 of 8", absent="filter:")


def check_types(bench):
    """The counts are those of `imdump messages --by type`, and Enter lists the messages of the type."""
    capture = bench.sample("tjp-weak-network.pcap")
    terminal = opened(bench, height=40)
    terminal.press("5")
    terminal.wait("4 types   by problems")
    row_of(terminal.lines(), r"^data +51 +2 +0 +5 +26\.4 ms +275\.5 ms +121\.5 ms +516\.4 ms")
    terminal.press("Down")
    wait_selected(terminal, "^heartbeat")
    terminal.press("Enter")
    terminal.wait("messages of the type heartbeat")
    terminal.wait(r"^. +2 08:53:20.455 → heartbeat")
    assert not re.search(r"→ (data|control|receipt)|without a message", terminal.text()), terminal.text()


def check_topics_and_texts(bench):
    """With --payload topics are counted beneath types and stand in the rows of messages, with what these say, until `u` hides both."""
    capture = bench.sample("mqtt5-mosquitto.pcap")
    terminal = bench.terminal(bench.store(capture, "--payload"), width=140, height=50)
    terminal.wait("7 of 7")
    terminal.press("5")
    terminal.wait("6 types, 10 topics   by problems")
    row_of(terminal.lines(), r"^locked +topic +2 +2 +0 +0 +2 ")
    row_of(terminal.lines(), r"^chat/zhang +topic +15 +12 +3 +0 ")
    terminal.press("End", "Enter")
    terminal.wait("messages of the topic ")
    terminal.press("4")
    terminal.wait(r"publish chat/zhang .* “在地铁上 🚇”")
    terminal.press("u")
    terminal.wait(r"texts are off \(u\)", absent="chat/zhang")
    assert "在地铁上" not in terminal.text()
    terminal.press("u")
    terminal.wait(r"publish chat/zhang .* “在地铁上 🚇”")
    # Without --payload there are none, and the screen says so.
    bench.close()
    terminal = bench.terminal(bench.store(capture), width=140, height=50)
    terminal.wait("7 of 7")
    terminal.press("5")
    terminal.wait(r"topics are off \(--payload\)")
    terminal.press("4")
    terminal.wait(r"messages of all sessions +texts are off \(--payload\)")


def check_commands(bench):
    terminal = opened(bench)
    terminal.type(":laddr\n")
    terminal.wait("no command 'laddr'; did you mean ladder\\?")
    terminal.press("C-u")
    terminal.type("so")
    terminal.press("Tab")
    terminal.wait("^ :sort")
    terminal.type("lo")
    terminal.press("Tab", "Enter")
    terminal.wait("by lost")
    terminal.type(":")
    terminal.press("Tab")
    terminal.wait("sessions connections messages types problems ladder")
    terminal.press("Escape")
    shown(terminal, "sessions")
    terminal.type(":messages\n")
    shown(terminal, "messages")
    terminal.type(":goto 60\n")
    wait_selected(terminal, r"^. +60 ")
    terminal.type(":goto 08:53:24.4\n")
    wait_selected(terminal, r"^. +11 08:53:24.6")
    terminal.type(":filter retries > 0\n")
    terminal.wait("filter: retries > 0")
    terminal.type(":filter retries >\n")
    terminal.wait("column")
    terminal.press("Escape")
    shown(terminal, "messages")
    terminal.type(":problems\n")
    shown(terminal, "problems")
    terminal.type(":help\n")
    terminal.wait("keys and commands")
    terminal.press("Escape")
    shown(terminal, "problems", absent="keys and commands")
    terminal.type(":sessions\n")
    shown(terminal, "sessions")
    terminal.type(":quit\n")
    terminal.wait("status=0")
