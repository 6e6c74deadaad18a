"""A store that another process changes while it is on the screen."""
import os
import shutil
import sqlite3


def check_new_rows_are_noticed(bench):
    path = os.path.join(bench.folder, "changing.db")
    shutil.copy(bench.store(bench.sample("tjp-weak-network.pcap")), path)
    other = sqlite3.connect(path)
    # As a store is while it is written: a log beside it, and not whole.
    other.execute("PRAGMA journal_mode = WAL")
    other.execute("UPDATE info SET value = 0 WHERE key = 'whole'")
    other.commit()
    terminal = bench.terminal(path, width=100)
    terminal.wait("3 sessions, 51 messages")
    terminal.press("a")
    terminal.wait("messages of all sessions")
    last = other.execute("SELECT max(id) FROM message").fetchone()[0]
    names = [row[1] for row in other.execute("PRAGMA table_info(message)")]
    others = ", ".join(name for name in names if name != "id")

    def add(count):
        nonlocal last
        for _ in range(count):
            other.execute("INSERT INTO message (id, %s) SELECT ?, %s FROM message WHERE id = 1" % (others, others), (last + 1,))
            last += 1
        other.commit()
    add(1)
    terminal.wait("● live")
    add(1204)
    terminal.wait(r"▼ 1,20\d new")
    assert "  1 " in "\n".join(terminal.lines()[2:6]), terminal.text()
    terminal.press("G")
    terminal.wait("▼ following")
    terminal.wait(r"^. +%d " % last)
    add(3)
    terminal.wait(r"^. +%d " % last)
    # What is decided later is shown where it stands.
    other.execute("UPDATE message SET fate = 3, problems = 2 WHERE id = ?", (last,))
    other.commit()
    terminal.wait(r"^! +%d .*unanswered" % last)
    other.execute("UPDATE info SET value = 1 WHERE key = 'whole'")
    other.commit()
    terminal.wait("messages of all sessions", absent="● live")
    other.close()
