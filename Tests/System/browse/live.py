"""A live capture on the screen, in network namespaces of its own."""
import contextlib
import os
import re
import shutil
import signal
import sqlite3
import time

from live import load, net


@contextlib.contextmanager
def spaces():
    """Two namespaces joined by a wire; None where they cannot be made, which is said."""
    if os.geteuid() != 0 or not shutil.which("ip"):
        print("check-browse: namespaces take root and iproute2: live captures were not checked")
        yield None
        return
    space = net.Net()
    try:
        space.__enter__()
    except OSError as error:
        print("check-browse: no namespaces here (%s): live captures were not checked" % error)
        yield None
        return
    try:
        yield space
    finally:
        space.__exit__()


def packets(bench, connections, messages):
    made = load.Load(os.path.join(bench.folder, "load-%d-%d.pcap" % (connections, messages)), connections, messages, width=50)
    return list(load.packets(made.path))


def send(space, some, pause=0.0):
    os.waitpid(net.send(space.near, some, pause, limit=60), 0)


# A packet that belongs to no connection: time comes with packets.
OTHER = b"\xff" * 6 + b"\x02\0\0\0\0\x01\x88\xb5" + bytes(46)


def sums(path):
    """What the sums say, and what the rows of messages add up to."""
    store = sqlite3.connect("file:%s?mode=ro" % path, uri=True, timeout=5)
    try:
        fates = dict(store.execute("SELECT name, id FROM fate"))
        named = ["acked", "acked_after_retry", "rejected", "unanswered", "damaged", "pending", "unacknowledged", "unknown"]
        message = "role = 'message'"
        added = ["sum(%s)" % message] + ["sum(%s AND fate = %d)" % (message, fates[name]) for name in named] + [
            "sum(CASE WHEN %s THEN retries ELSE 0 END)" % message, "sum(%s AND (problems & 16) <> 0)" % message,
            "sum(role = 'heartbeat')", "sum(role = 'heartbeat' AND fate IN (%d, %d))" % (fates["unanswered"], fates["damaged"]),
            "sum(role NOT IN ('message', 'heartbeat'))"]
        figures = ["messages"] + named + ["retries", "late", "heartbeats", "heartbeats_lost", "others"]
        for way, name in enumerate(("c2s", "s2c")):
            trip = "CASE WHEN direction = %d AND role <> 'heartbeat' AND retries = 0 THEN rtt_us END" % way
            figures += ["rtt_%s_%s" % (name, end) for end in ("count", "sum_us", "min_us", "max_us")]
            added += ["count(%s)" % trip, "ifnull(sum(%s), 0)" % trip, "min(%s)" % trip, "max(%s)" % trip]
        figures.append("first_us")
        added.append("min(time_us)")
        columns = ", ".join(figures)
        # One look at both: the writer goes on.
        store.execute("BEGIN")
        found = {
            "session": store.execute("SELECT id, %s FROM session ORDER BY 1" % columns).fetchall(),
            "connection": store.execute("SELECT id, %s FROM connection ORDER BY 1" % columns).fetchall(),
            "bucket": store.execute("SELECT start_s, %s FROM bucket WHERE width_s = 10 ORDER BY 1" % columns).fetchall()}
        wanted = {
            "session": store.execute("SELECT session, %s FROM message JOIN type ON type.id = message.type GROUP BY 1 ORDER BY 1" % ", ".join(added)).fetchall(),
            "connection": store.execute("SELECT connection, %s FROM message JOIN type ON type.id = message.type GROUP BY 1 ORDER BY 1" % ", ".join(added)).fetchall(),
            "bucket": store.execute(
                "SELECT time_us / 10000000 * 10, %s FROM message JOIN type ON type.id = message.type GROUP BY 1 ORDER BY 1" % ", ".join(added)).fetchall()}
        problems = store.execute(
            "SELECT (SELECT count(*) FROM problem WHERE message IS NOT NULL), (SELECT sum((problems & 1) + (problems >> 1 & 1) "
            "+ (problems >> 2 & 1) + (problems >> 3 & 1) + (problems >> 4 & 1) + (problems >> 5 & 1) + (problems >> 6 & 1)) FROM message)"
        ).fetchone()
        assert problems[0] == (problems[1] or 0), problems
        return found, wanted
    finally:
        store.close()


def check_a_capture_is_followed(bench):
    with spaces() as space:
        if not space:
            return
        folder = os.path.join(bench.folder, "live")
        # Root becomes nobody, who has to get there.
        os.chmod(bench.folder, 0o755)
        os.mkdir(folder)
        os.chmod(folder, 0o777)
        store, written = os.path.join(folder, "live.db"), os.path.join(folder, "live.pcap")
        terminal = bench.terminal(
            "-i", "wire0", "--store", store, "-w", written, "-Z", "nobody", width=140, height=30, folder=folder,
            within=net.inside(space.far, []))
        terminal.wait("● live  0 packets")
        some = packets(bench, 20, 4)
        first = some[: len(some) // 2]
        begun = time.monotonic()
        send(space, first)
        terminal.wait(r"\d+ sessions?, \d+ messages")
        took = time.monotonic() - begun
        assert took < 20, "the first message took %.1f s" % took
        terminal.press("a")
        terminal.wait("▼ following")
        terminal.press("g")
        terminal.wait(r"^. +1 ")
        send(space, some[len(first):])
        terminal.wait(r"▼ \d+ new")
        terminal.press("G")
        terminal.wait("▼ following")
        # In the middle and in the end, sums are those of the rows.
        found, wanted = sums(store)
        assert found == wanted, (found, wanted)
        count = sum(row[1] for row in found["session"])
        assert count > 0
        # The bytes of a message that is in the file of packets already.
        terminal.press("Up")
        terminal.wait("messages of all sessions", absent="▼ following")
        terminal.press("Enter")
        terminal.wait(r"\d+ bytes at \d+")
        terminal.press("BSpace")
        terminal.wait("messages of all sessions")
        terminal.press("q")
        terminal.wait("status=0")
        terminal.wait("live.db")
        found, wanted = sums(store)
        assert found == wanted, (found, wanted)
        run = bench.imdump("messages", "-q", "--json", written)
        assert len(run.stdout.splitlines()) == sum(row[1] for row in found["session"]), run.stderr
        assert sqlite3.connect(store).execute("SELECT value FROM info WHERE key = 'whole'").fetchone()[0] == 1


def check_it_leaves_no_file(bench):
    with spaces() as space:
        if not space:
            return
        for how in ["q", signal.SIGTERM, signal.SIGINT]:
            terminal = bench.terminal("-i", "wire0", "-Z", "nobody", width=120, within=net.inside(space.far, []))
            terminal.wait("● live  0 packets")
            send(space, packets(bench, 3, 2))
            terminal.wait(r"\d+ sessions?, \d+ messages")
            # Packets are kept beside the store: the bytes of a message can be seen.
            terminal.press("a")
            terminal.wait("messages of all sessions")
            terminal.press("Enter")
            terminal.wait(r"\d+ bytes at \d+")
            if how == "q":
                terminal.press("q")
            else:
                os.kill(terminal.process(), how)
            terminal.wait(r"status=\d")
            assert terminal.ask("#{alternate_on}") == "0"
            left = [name for name in os.listdir("/var/tmp/imdump-nobody") if name.startswith("browse-")]
            assert not left, left


def check_an_interface_that_is_not_there(bench):
    if os.geteuid() != 0:
        return
    terminal = bench.terminal("-i", "absent0", width=120)
    terminal.wait("absent0: ")
    terminal.wait("status=66")
    assert re.search("status=66", terminal.text())
