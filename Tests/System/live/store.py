"""A store that a live capture writes: it can be asked while it is written, and holds in the end what the packets' file holds."""
import json
import os
import sqlite3
import signal
import subprocess

from . import load, net, runs
from .alerts import until


def ask(path, sql):
    """The first row, as any reader of SQLite gets it; None while there is no store."""
    try:
        store = sqlite3.connect("file:%s?mode=ro" % path, uri=True, timeout=1)
        try:
            return store.execute(sql).fetchone()
        finally:
            store.close()
    except sqlite3.DatabaseError:
        return None


def stored(space, path, sql):
    """The first row, if it has messages; after a packet, because time comes with packets."""
    os.waitpid(net.send(space.near, [b"\xff" * 6 + b"\x02\0\0\0\0\x01\x88\xb5" + bytes(46)]), 0)
    row = ask(path, sql)
    return row if row and row[0] else None


def told(binary, path):
    """The messages of a capture, without what only a file has."""
    done = subprocess.run([binary, "messages", "-q", "--json", path], stdout=subprocess.PIPE, text=True, check=True)
    return sorted((line["conn"], line["dir"], line.get("seq") or 0, line["type"], line["fate"]) for line in
                  map(json.loads, done.stdout.splitlines()))


def check(binary, space, folder, report, is_long):
    made = load.Load(os.path.join(folder, "stored.pcap"), 200, 4, width=50)
    sent = list(load.packets(made.path))
    for own in (False, True):
        place = os.path.join(folder, "store-%d" % own)
        os.mkdir(place)
        if own:
            os.chmod(place, 0o777)
        path, packets = os.path.join(place, "live.db"), os.path.join(folder, "stored-%d.pcap" % own)
        run = runs.Run(binary, space.far, folder, "-i", "wire0", "--store", path, "-w", packets, "-Z", "nobody")
        whose = "a folder of everybody's" if own else "a folder of root's"
        if not report.check("a live capture writes a store in %s" % whose, run.listens(), run.told()):
            continue
        os.waitpid(net.send(space.near, sent), 0)
        # Fates are final a minute after a message's last copy, by the time of other packets; and the writer has a second's patience.
        sums = "SELECT count(*), (SELECT sum(messages + heartbeats + others) FROM session), (SELECT sum(messages + heartbeats + others) FROM bucket WHERE width_s = 60) FROM message"
        row = until(120, lambda: stored(space, path, sums))
        report.check("messages are there while it is written, and in the sums", bool(row) and row[0] == row[1] == row[2], row,
                     run.told())
        done = subprocess.run([binary, "query", "--json", path, "SELECT count(*) AS n FROM messages"], stdout=subprocess.PIPE, text=True)
        report.check("imdump query reads it meanwhile", done.returncode == 0 and json.loads(done.stdout)["n"] > 0, done.stdout)
        run.stop(signal.SIGINT)
        report.check("it ends with status 0", run.status == 0, run.said)
        store = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
        rows = sorted((row[0], row[1], row[2] or 0, row[3], row[4]) for row in
                      store.execute("SELECT conn, dir, seq, type, fate FROM messages"))
        report.check("in the end it has the messages of the packets' file", len(rows) > 0 and rows == told(binary, packets),
                     "%d rows" % len(rows))
        places = "SELECT client, dir, seq, type, byte_offset, byte_count FROM messages ORDER BY 1, 2, 3, 4, 5"
        index = os.path.join(place, "index.db")
        subprocess.run([binary, "index", "-q", packets, "-o", index], check=True)
        wanted = sqlite3.connect(index).execute(places).fetchall()
        report.check("and says where their bytes are in it, as the index of the file does",
                     any(row[4] for row in wanted) and store.execute(places).fetchall() == wanted, wanted[:3])
        report.check("and is whole", store.execute("SELECT value FROM info WHERE key = 'whole'").fetchone()[0] == 1)
        store.close()

    # Packets in files that follow one another; the first names come again.
    for count in ([], ["-W", "2"]):
        place = os.path.join(folder, "files-%d" % len(count))
        os.mkdir(place)
        path = os.path.join(place, "live.db")
        run = runs.Run(binary, space.far, folder, "-i", "wire0", "--store", path, "-w", os.path.join(place, "part"), "-C", "20k", *count)
        if not report.check("a store beside files that follow one another", run.listens(), run.told()):
            continue
        os.waitpid(net.send(space.near, sent), 0)
        run.stop(signal.SIGINT)
        rows = sqlite3.connect(path).execute("SELECT capture, byte_offset, byte_count FROM messages WHERE byte_offset NOT NULL").fetchall()
        heads = set()
        for capture, offset, size in rows:
            if capture:
                with open(capture, "rb") as file:
                    file.seek(offset)
                    frame = file.read(size)
                heads.add((len(frame) == size, frame[:2]))
        captures = {row[0] for row in rows}
        report.check("says in which file the bytes are, and where", len(captures) > 2 - (not count) and len(heads) == 1 and
                     (None in captures) == bool(count), (sorted(map(str, captures)), heads, len(rows)))

    # One that may not be large, with the packets beside it.
    path = os.path.join(folder, "small.db")
    run = runs.Run(binary, space.far, folder, "-i", "wire0", "--store", path, "--store-max", "1M")
    if report.check("a store with a limit", run.listens(), run.told()):
        for _ in range(6):
            os.waitpid(net.send(space.near, sent), 0)
        run.stop(signal.SIGINT)
        sizes = {name: os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder) if name.startswith("small.db")}
        report.check("keeps to it", run.status == 0 and sum(sizes.values()) < 1 << 20, (run.said, sizes))
        rows = ask(path, "SELECT count(*), (SELECT sum(messages + heartbeats + others) FROM session) FROM message")
        report.check("and its sums are those of its rows", bool(rows) and rows[0] > 0 and rows[0] == rows[1], rows)
