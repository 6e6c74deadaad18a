"""Keys, on the screens on which they do something."""
import os
import re

from .terminal import heading_of, row_of


def selected(terminal):
    """The text of the row that is shown in reverse, below the title and the tabs."""
    painted = terminal.tmux("capture-pane", "-t", "t", "-p", "-e").stdout.split("\n")
    plain = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in painted]
    for line in painted[heading_of(plain):]:
        if re.search(r"\x1b\[[0-9;]*7[;m]", line) or line.startswith("\x1b[7m"):
            return re.sub(r"\x1b\[[0-9;]*m", "", line)
    return ""


def wait_selected(terminal, pattern):
    def found(text):
        return re.search(pattern, selected(terminal))
    found.__doc__ = "a selected row with " + pattern
    terminal.wait(found)


def opened(bench, *words, **options):
    terminal = bench.terminal(bench.store(bench.sample("tjp-weak-network.pcap")), *words, **options)
    terminal.wait("3 of 3   by problems")
    # In the order of their numbers, which no count changes.
    terminal.type(":sort number\n")
    terminal.wait("3 of 3   by number")
    terminal.wait(r"^ ! 49147[^$]*^ R 40475[^$]*^ ! 22509")
    return terminal


def first_row(text):
    """The first row of a list."""
    lines = text.split("\n")
    return lines[heading_of(lines) + 1]


def check_moving(bench):
    terminal = opened(bench)
    wait_selected(terminal, "49147")
    for key, name in [("Down", "40475"), ("j", "22509"), ("Down", "22509"), ("Up", "40475"), ("k", "49147"),
                      ("End", "22509"), ("Home", "49147"), ("G", "22509"), ("g", "49147"), ("PageDown", "22509"),
                      ("PageUp", "49147"), ("Space", "22509"), ("C-b", "49147"), ("C-f", "22509")]:
        terminal.press(key)
        wait_selected(terminal, name)


def check_opening_and_back(bench):
    terminal = opened(bench)
    for forth, back in [("Enter", "Escape"), ("Right", "Left"), ("Enter", "h"), ("Enter", "BSpace")]:
        terminal.press(forth)
        terminal.wait(r"^ session 49147 .*\n +1 ")
        terminal.press(back)
        terminal.wait("3 of 3")


def check_messages_are_those_of_the_session(bench):
    terminal = opened(bench, height=70)
    terminal.press("Enter")
    store = bench.store(bench.sample("tjp-weak-network.pcap"))
    rows = bench.imdump("query", store, "SELECT id FROM messages WHERE session = '49147' ORDER BY id", "--format", "csv")
    wanted = rows.stdout.splitlines()[1:]
    assert len(wanted) > 25, wanted

    def listed(text):
        return re.findall(r"^[!R~ ] +(\d+) \d\d:\d\d:", text, re.M) == wanted
    listed.__doc__ = "messages " + " ".join(wanted)
    terminal.wait(listed)


def check_details(bench):
    terminal = opened(bench)
    terminal.press("Enter")
    terminal.wait("^ *answered after 26.9 ms")
    terminal.press("n")
    terminal.wait("^ *answered after 3.03 s from the first copy, after a retry")
    terminal.wait("^ *sent again once before the answer")


def check_sorting_keeps_the_session(bench):
    terminal = opened(bench)
    terminal.press("Down")
    wait_selected(terminal, "40475")
    for key in ["name", "messages", "round trip", "retries", "lost", "last", "problems", "number"]:
        terminal.press("s")
        terminal.wait("by %s" % key)
        wait_selected(terminal, "40475")
    terminal.press("s", "s")
    lines = terminal.wait(lambda text: re.search("by messages", text) and "msgs▼" in text and first_row(text).find("40475") > 0)
    counts = [int(re.search(r":\d+ +\w+ +(\d+)", line).group(1)) for line in lines[heading_of(lines) + 1:][:3]]
    assert counts == sorted(counts, reverse=True), counts
    terminal.press("r")
    lines = terminal.wait(lambda text: "msgs▲" in text and "22509" in first_row(text))
    wait_selected(terminal, "40475")


def check_pins(bench):
    terminal = opened(bench)
    terminal.press("End")
    wait_selected(terminal, "22509")
    terminal.press("p")
    terminal.wait(lambda text: re.match(r"\*[R!]? +22509", first_row(text)))
    wait_selected(terminal, "22509")
    terminal.press("s")
    terminal.wait("by name")
    assert "22509" in first_row(terminal.text())
    terminal.press("p")
    terminal.wait(lambda text: not re.search(r"^\*", text, re.M))


def check_filtering_sessions_as_one_types(bench):
    terminal = opened(bench)
    terminal.press("/")
    terminal.wait("filter:")
    for count, letter in [(1, "4"), (2, "9"), (3, "1")]:
        terminal.type(letter)
    terminal.wait(lambda text: "49147" in text and "40475" not in text and "22509" not in text)
    terminal.press("BSpace", "BSpace", "BSpace")
    terminal.wait(lambda text: all(name in text for name in ["49147", "40475", "22509"]))
    # Letters are text here: none of them ends or sorts anything.
    terminal.type("qspn")
    terminal.wait(lambda text: "filter: qspn" in text and "49147" not in text)
    terminal.press("Escape")
    terminal.wait("3 of 3   by number")
    terminal.press("/")
    terminal.type("203.0")
    terminal.press("Enter")
    terminal.wait("filter: 203.0 +3 of 3")
    terminal.press("/")
    terminal.wait("filter: 203.0")
    terminal.type("zzz")
    terminal.press("Enter")
    terminal.wait("filter: 203.0zzz +0 of 3")
    terminal.press("Escape")
    terminal.wait("^ 3 of 3")


def check_filtering_messages(bench):
    capture = bench.sample("tjp-weak-network.pcap")
    terminal = opened(bench, height=50)
    terminal.press("a")
    terminal.wait("messages of all sessions")
    for text in ["type == data && retries > 0", "rtt_ms > 100", "fate in {unanswered, damaged}",
                 "client.ip == 192.0.2.0/24 and heartbeat", "session == 40475 and dir == s2c"]:
        wanted = bench.imdump("messages", "-q", "--json", capture, "-Y", text)
        count = len(wanted.stdout.splitlines())
        terminal.press("/")
        terminal.press("C-u")
        terminal.type(text)
        if "heartbeat" in text:
            terminal.wait("'heartbeat' is not in a store")
            terminal.press("Escape")
            continue
        terminal.press("Enter")

        def shown(screen):
            rows = [line for line in screen.split("\n") if re.match(r"^[!R~ ] +\d+ \d\d:\d\d:\d\d\.", line)]
            return "filter: " + text in screen and len(rows) == min(count, len(rows) if count > 25 else count) and (rows or not count)
        shown.__doc__ = "%d messages with %s" % (count, text)
        assert count > 0, text
        terminal.wait(shown)
    terminal.press("/")
    terminal.type(" && (")
    terminal.wait("column ")
    terminal.press("Enter")
    terminal.type("x")
    terminal.wait(r"\(x")
    terminal.press("Escape")
    terminal.wait("filter: session == 40475")
    terminal.press("Escape")
    terminal.wait(lambda text: "filter:" not in text and re.search(r"^. +120 ", text, re.M) or "filter:" not in text)


def check_problems_one_by_one(bench):
    store = bench.store(bench.sample("tjp-weak-network.pcap"))
    rows = bench.imdump("query", store, "SELECT id FROM messages WHERE problems <> 0 ORDER BY id", "--format", "csv")
    wanted = [int(row) for row in rows.stdout.splitlines()[1:]]
    terminal = opened(bench)
    terminal.press("a")
    wait_selected(terminal, r"^. +1 ")
    for number in [number for number in wanted if number > 1]:
        terminal.press("n")
        wait_selected(terminal, r"^[!R~] +%d " % number)
    terminal.press("n")
    terminal.wait("no message with a problem below")
    for number in reversed(wanted[:-1]):
        terminal.press("N")
        wait_selected(terminal, r"^[!R~] +%d " % number)


def check_problems_by_kind(bench):
    store = bench.store(bench.sample("tjp-damage.pcap"))
    kinds = ["rejected", "unanswered", "damaged", "retried", "late", "duplicate", "unknown", "heartbeat_missed",
             "control_unanswered"]
    terminal = bench.terminal(store)
    terminal.wait("by problems")
    terminal.press("a")
    terminal.wait("messages of all sessions")
    for key, kind in enumerate(kinds):
        terminal.press("g")
        wait_selected(terminal, r"^. +1 ")
        first = bench.imdump(
            "query", store, "SELECT ifnull(min(id), 0) FROM messages WHERE id > 1 AND problems & %d <> 0" % (1 << key),
            "--format", "csv").stdout.splitlines()[1]
        terminal.press("'", str(key + 1))
        if first == "0":
            terminal.wait("no message with this problem below")
        else:
            wait_selected(terminal, r"^[!R~] +%s " % first)


def check_problems_by_kind_and_cause(bench):
    store = bench.store(bench.sample("tjp-weak-network.pcap"))
    terminal = opened(bench)
    terminal.press("P")
    lines = terminal.wait("kinds? of problem")
    rows = bench.imdump(
        "query", store, "SELECT kind, ifnull(cause, '-'), count(*) FROM problems GROUP BY 1, 2", "--format", "csv")
    for row in rows.stdout.splitlines()[1:]:
        kind, cause, count = row.split(",")
        row_of(lines, r"^%s +%s +%s " % (kind, cause, count))
    kinds = [re.split(" {2,}", line)[0] for line in lines[heading_of(lines) + 1:] if re.search(r" \d\d:\d\d:\d\d\.\d{3}$", line.rstrip())]
    assert kinds, lines
    for row, kind in enumerate(kinds):
        terminal.press("Home", *["Down"] * row)
        wait_selected(terminal, "^" + kind)
        terminal.press("Enter")
        bit = bench.imdump("query", store, "SELECT bit FROM problem_kind WHERE name = '%s'" % kind, "--format", "csv")
        bit = bit.stdout.splitlines()[1]
        if not bit:
            terminal.wait(kind + " is about a stream")
            continue
        wanted = bench.imdump(
            "query", store, "SELECT id FROM messages WHERE problems & %s <> 0 ORDER BY id" % bit, "--format", "csv")
        wanted = wanted.stdout.splitlines()[1:]
        terminal.wait("messages of all sessions: " + kind)

        def listed(text):
            return re.findall(r"^[!R~] +(\d+) \d\d:\d\d:", text, re.M)[:10] == wanted[:10]
        listed.__doc__ = "messages " + " ".join(wanted[:10])
        terminal.wait(listed)
        terminal.press("Escape")
        terminal.wait("kinds? of problem")
    terminal.press("Escape")
    terminal.wait("3 of 3")


def check_help(bench):
    terminal = opened(bench, height=40)
    terminal.press("?")
    text = "\n".join(terminal.wait("this help"))
    for words in ["the session's messages", "sort by the next column", "this help", "pin the session"]:
        assert words in text, words
    terminal.press("q")
    terminal.wait("49147", absent="this help")
    terminal.press("Enter")
    terminal.wait("^ session 49147")
    terminal.press("F1")
    terminal.wait("'2 +the next unanswered message")


def check_the_equivalent_command(bench):
    capture = bench.sample("tjp-weak-network.pcap")
    terminal = bench.terminal(capture, width=160)
    terminal.wait("3 of 3", absent="●")
    terminal.press("!")
    terminal.wait("imdump messages .*tjp-weak-network.pcap --by session")
    terminal.tmux("set-option", "-s", "set-clipboard", "on")
    terminal.press("y")
    terminal.wait("copied")
    wanted = "imdump messages %s --by session" % capture
    terminal.wait(lambda text: terminal.tmux("show-buffer").stdout == wanted)
    terminal.press("!")
    terminal.wait("equivalent command")
    terminal.press("Escape")
    terminal.wait("3 of 3", absent="equivalent command")
    terminal.press("Enter")
    terminal.wait("^ session 49147")
    terminal.press("/")
    terminal.type("retries > 0")
    terminal.press("Enter")
    lines = terminal.wait(lambda text: "filter: retries > 0" in text and not re.search(r"^  +\d+ \d\d:", text, re.M))
    shown = len([line for line in lines if re.match(r"^[!R~ ] +\d+ \d\d:\d\d:\d\d\.", line)])
    terminal.press("!")
    lines = terminal.wait("equivalent command")
    command = re.search(r"imdump messages (\S+) -Y '(.*)'", "\n".join(lines))
    printed = bench.imdump("messages", "-q", "--json", command.group(1), "-Y", command.group(2)).stdout.splitlines()
    assert len(printed) == shown > 0, (printed, shown)


def check_unknown_keys_do_nothing(bench):
    terminal = opened(bench)
    before = terminal.lines()
    rows = heading_of(before) + 4
    terminal.press("x", "C-x", "F9", "M-q")
    terminal.type("\x1b[99;99~\x1b]0;title\x07")
    terminal.press("End")
    wait_selected(terminal, "22509")
    assert terminal.lines()[:rows] == before[:rows]


def check_names(bench):
    path = os.path.join(bench.folder, "names.csv")
    with open(path, "w") as file:
        file.write("id,name\n49147,张三\n192.0.2.99,nobody\n")
    terminal = bench.terminal(bench.store(bench.sample("tjp-weak-network.pcap")), "--names", path, width=120)
    lines = terminal.wait("49147 +张三 ")
    terminal.press("Enter")
    terminal.wait("^ session 49147 张三")


def check_unfolding(bench):
    terminal = opened(bench, height=40)
    terminal.press("Enter")
    before = terminal.wait(r"^ *answered after ")
    terminal.press("x")
    lines = terminal.wait(r"^   ├ packet \d+ of ")
    assert any(re.match(r"   └ ", line) for line in lines), "\n".join(lines)
    terminal.press("x")
    terminal.wait(lambda text: not re.search("├ packet", text))
    assert terminal.lines()[2:10] == before[2:10]


def check_states(bench):
    """The column, the filter and what a query says are the same."""
    store = bench.store(bench.sample("tjp-weak-network.pcap"))
    rows = bench.imdump("query", store, "SELECT name, state FROM sessions", "--format", "csv").stdout.splitlines()[1:]
    wanted = dict(row.split(",") for row in rows)
    terminal = opened(bench)
    for name, state in wanted.items():
        row_of(terminal.lines(), r" %s .* %s " % (name, {"reconnected": "RECON"}.get(state, state.upper())))
    for state in sorted(set(wanted.values())) + ["reset"]:
        for sign in ["", "!"]:
            terminal.press("/")
            terminal.press("C-u")
            terminal.type("%sstate:%s" % (sign, state))
            terminal.press("Enter")
            terminal.wait("filter: %sstate:%s +%d of 3" % (sign, state, sum((other == state) != (sign == "!") for other in wanted.values())))
