"""Messages, metrics and connections while they happen: `messages -i`, `stats -i`, `streams -i`, on a sample's packets, thirty times as fast."""
import json
import os
import subprocess
import time

from . import net, runs

SAMPLE = os.path.join(os.path.dirname(__file__), "..", "..", "..", "Samples", "tjp-weak-network.pcap")


def objects(lines):
    return [json.loads(line) for line in lines.splitlines() if line]


def fates(messages):
    """What became of each message, by what names it; of several lines of one, the last one counts."""
    return {(m["client"], m["dir"], m["type"], m.get("seq")): m["fate"] for m in messages}


def count(value):
    """What does not depend on how fast packets come."""
    return {key: value.get(key) for key in ("packets", "bytes", "messages")} if isinstance(value, dict) else value


def check(binary, space, folder, report, is_long):
    file = subprocess.run([binary, "messages", "-q", "--json", SAMPLE], stdout=subprocess.PIPE, text=True)
    expected = fates(objects(file.stdout))
    stats = subprocess.run([binary, "stats", "-q", "--json", SAMPLE], stdout=subprocess.PIPE, text=True)
    whole = json.loads(stats.stdout)
    for name, arguments in (("messages", ["messages", "--json"]), ("periods", ["stats", "--every", "1s", "--json"]),
                            ("figures", ["stats", "--json"]), ("streams", ["streams", "--json"]),
                            ("lost", ["messages", "--lost", "--json"])):
        run = runs.Run(binary, space.far, folder, *arguments, "-i", "wire0")
        if not run.listens():
            report.check("imdump %s captures" % name, False, run.wait().said)
            continue
        replay = ["tcpreplay", "-q", "-K", "--multiplier=30", "-i", "wire0", SAMPLE]
        subprocess.run(net.inside(space.near, replay), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
        # A connection is listed six seconds after its end, when no answer is to come any more.
        deadline = time.monotonic() + 30
        while name == "streams" and not os.path.getsize(run.out) and time.monotonic() < deadline:
            time.sleep(0.1)
        with open(run.out, encoding="utf-8") as out:
            early = objects(out.read().rpartition("\n")[0])
        run.stop()
        with open(run.out, encoding="utf-8") as out:
            told = objects(out.read())
        report.check(name + ": exit 0", run.status == 0, run.status, run.said)
        if name == "messages":
            report.check("messages, live: the fates of %d messages are those of the file" % len(expected),
                         fates(told) == expected, set(fates(told).items()) ^ set(expected.items()))
            decided = sum(fate != "pending" for fate in expected.values())
            report.check("messages, live: %d of %d lines came before the end" % (len(early), len(told)),
                         len(early) >= decided * 0.9)
        elif name == "streams":
            listed = subprocess.run([binary, "streams", "-q", "--json", "--sort", "conn", SAMPLE], stdout=subprocess.PIPE, text=True)
            kept = ("packets", "c2s", "s2c", "messages", "rst_by")
            rows, expected_rows = ({row["client"]: {key: count(row.get(key)) for key in kept} for row in rows}
                                   for rows in (told, objects(listed.stdout)))
            report.equal("streams, live: connections", rows, expected_rows)
            report.check("streams, live: %d of %d lines came before the end" % (len(early), len(told)), len(early) >= 1)
        elif name == "lost":
            # Heartbeats are no messages.
            lost = {key for key, fate in expected.items() if key[2] != "heartbeat" and fate in ("unanswered", "damaged")}
            report.check("messages --lost, live: %d" % len(lost), set(fates(told)) == lost, fates(told), lost)
        elif name == "periods":
            report.equal("stats --every, live: messages sent", sum(row["sent"] for row in told),
                         whole["total"]["messages"]["units"])
            report.equal("stats --every, live: frames", sum(row["frames"] for row in told), whole["traffic"]["frames"])
            starts = [row["start_us"] for row in told]
            report.check("stats --every, live: each period once", starts == sorted(set(starts)), starts)
            report.check("stats --every, live: %d of %d lines came before the end" % (len(early), len(told)),
                         len(told) > 2 and len(early) >= len(told) - 2)
        else:
            figures = told[0]["total"]["messages"]
            report.equal("stats, live: messages", figures, whole["total"]["messages"])
