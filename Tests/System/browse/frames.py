"""What is shown first."""
import json
import os
import re
import shutil
import sqlite3

from .terminal import heading_of


def check_a_capture(bench):
    terminal = bench.terminal(bench.sample("tjp-weak-network.pcap"))
    lines = terminal.wait(r"3 sessions, 51 messages,\s+2 lost", absent="●|reading the first messages")
    assert lines[0].startswith(" imdump  tjp-weak-network.pcap"), lines[0]
    first = lines[heading_of(lines) + 1]
    assert re.search(r"49147 +192\.0\.2\.77:50113 +RECON +15 +275\.3 ms +372\.1 ms +2 +1", first), first
    assert "3 of 3" in lines[-2] and "? help" in lines[-1], lines[-2:]


def check_a_store(bench):
    terminal = bench.terminal(bench.store(bench.sample("tjp-weak-network.pcap")))
    lines = terminal.wait(r"3 sessions, 51 messages,\s+2 lost")
    assert "●" not in lines[0]


def check_figures_are_those_of_messages_by_session(bench):
    capture = bench.sample("tjp-racing.pcap")
    sessions = bench.imdump("messages", "-q", "--json", "--by", "session", capture).stdout.splitlines()
    wanted = r"%s sessions?, %s messages" % (format(len(sessions), ","), format(sum(json.loads(line)["messages"] for line in sessions), ","))
    terminal = bench.terminal(capture, width=120)
    terminal.wait(wanted, absent="●")


def check_files_that_are_none(bench):
    assert bench.imdump("browse", bench.sample("tjp-clean-chat.pcap")).returncode == 64
    run = bench.imdump("browse", os.path.join(bench.folder, "absent.pcap"))
    assert run.returncode == 66 and "absent.pcap" in run.stderr, run
    run = bench.imdump("browse", "-")
    assert run.returncode == 64, run


def check_a_store_of_another_format(bench):
    path = os.path.join(bench.folder, "other.db")
    shutil.copy(bench.store(bench.sample("tjp-weak-network.pcap")), path)
    with sqlite3.connect(path) as store:
        store.execute("PRAGMA user_version = 99")
    terminal = bench.terminal(path, width=200)
    terminal.wait("other.db: open the store: is a store of format 99")
    terminal.wait("status=66")


def check_a_file_that_is_no_capture(bench):
    terminal = bench.terminal(bench.sample("README.md"))
    terminal.wait("✗ damaged")
    terminal.press("q")
    terminal.wait("status=0")


def check_no_colours(bench):
    terminal = bench.terminal(bench.sample("tjp-weak-network.pcap"), environment={"NO_COLOR": "1"})
    terminal.wait("51 messages", absent="●")
    painted = terminal.tmux("capture-pane", "-t", "t", "-p", "-e").stdout
    assert not re.search(r"\x1b\[[0-9;]*(3[0-7]|38|9[0-7])[;m]", painted), repr(painted[:400])
    assert re.search("^ ! ", "\n".join(terminal.lines()), re.M) or "!" in terminal.text()
