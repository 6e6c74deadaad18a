"""A real broker and real clients on a loopback: imdump decodes all that they are known to have said."""
import collections
import json
import os
import signal
import subprocess
import time

from . import net, runs

TYPES = ["", "connect", "connack", "publish", "puback", "pubrec", "pubrel", "pubcomp", "subscribe", "suback",
         "unsubscribe", "unsuback", "pingreq", "pingresp", "disconnect", "auth"]
LINES = 500
# What three writers and three readers of quality 0, 1 and 2 must say to have every line arrive: a message goes on with the
# lower of two qualities. Quality 1 is answered by puback, quality 2 takes three packets more.
SAID = {
    ("connect", "c2s"): 6, ("connack", "s2c"): 6, ("subscribe", "c2s"): 3, ("suback", "s2c"): 3,
    ("disconnect", "c2s"): 6, ("publish", "c2s"): 3 * LINES, ("publish", "s2c"): 9 * LINES,
    ("puback", "s2c"): LINES, ("puback", "c2s"): 3 * LINES,
    ("pubrec", "s2c"): LINES, ("pubrel", "c2s"): LINES, ("pubcomp", "s2c"): LINES,
    ("pubrec", "c2s"): LINES, ("pubrel", "s2c"): LINES, ("pubcomp", "c2s"): LINES,
}
CONFIGURATION = """listener 1883 127.0.0.1
allow_anonymous true
persistence false
max_queued_messages 100000
user root
"""


class Broker:
    """mosquitto and tcpdump in a namespace; everything it starts it ends."""

    def __init__(self, space, folder):
        self.space, self.folder, self.started = space, folder, []
        self.capture = os.path.join(folder, "mqtt.pcap")

    def start(self, *command, **settings):
        settings = dict({"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL},
                        **settings)
        process = subprocess.Popen(net.inside(self.space, command), **settings)
        self.started.append(process)
        return process

    def __enter__(self):
        path = os.path.join(self.folder, "broker.conf")
        with open(path, "w", encoding="utf-8") as file:
            file.write(CONFIGURATION)
        self.start("mosquitto", "-c", path)
        self.tcpdump = self.start("tcpdump", "-i", "lo", "-B", "16384", "--immediate-mode", "-U", "-Z", "root", "-w",
                                  self.capture, "tcp port 1883")
        time.sleep(1)
        return self

    def __exit__(self, *_):
        for process in self.started:
            if process.poll() is None:
                process.terminate()
            process.wait(10)

    def talk(self):
        """Three readers and three writers, one for each quality of service; ends when all has been read."""
        client = ["-h", "127.0.0.1", "-V", "mqttv311"]
        readers = [self.start("mosquitto_sub", *client, "-i", "reader%d" % q, "-q", str(q), "-t", "chat/#", "-k", "5",
                              "-C", str(3 * LINES), "-W", "20") for q in range(3)]
        time.sleep(0.5)
        text = "".join("line %d 在地铁上 🚇\n" % n for n in range(LINES)).encode()
        writers = []
        for q in range(3):
            writer = self.start("mosquitto_pub", *client, "-i", "writer%d" % q, "-q", str(q), "-t", "chat/%d" % q, "-l",
                                stdin=subprocess.PIPE)
            writer.stdin.write(text)
            writer.stdin.close()
            writers.append(writer)
        return [process.wait(30) for process in writers + readers]

    def witness(self):
        """Ends tcpdump; control packets by type and direction, as tshark sees them: it may see less than was said."""
        time.sleep(0.5)
        self.tcpdump.terminate()
        self.tcpdump.wait(10)
        said = subprocess.run(["tshark", "-o", "tcp.reassemble_out_of_order:TRUE", "-r", self.capture, "-Y", "mqtt",
                               "-T", "fields", "-e", "tcp.dstport", "-e",
                               "mqtt.msgtype"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
        counts = collections.Counter()
        for line in said.stdout.split("\n"):
            port, _, types = line.partition("\t")
            for number in filter(None, types.split(",")):
                counts[TYPES[int(number)], "c2s" if port == "1883" else "s2c"] += 1
        return counts


def check(binary, space, folder, report, is_long):
    """One conversation for each signal."""
    for number in (signal.SIGINT, signal.SIGTERM):
        name = "mqtt, %s" % signal.Signals(number).name
        with Broker(space.near, folder) as broker:
            run = runs.Run(binary, space.near, folder, "-i", "lo", "--format", "json", "tcp", "port", "1883")
            # tcpdump listens there as well.
            if not run.listens(sockets=2):
                report.check(name + ": imdump captures", False, run.wait().said)
                continue
            ends = broker.talk()
            run.stop(number)
            expected = broker.witness()
        report.note(run.figures)
        report.check(name + ": all clients ended well", not any(ends), ends)
        report.check(name + ": exit 0", run.status == 0, run.said)
        report.equal(name + ": dropped by kernel", run.counts["dropped"], 0)
        report.equal(name + ": kernel's count less all of ours", run.ledger, 0)
        report.check("%s: ended in %.0f ms" % (name, 1_000 * run.ended), run.ended < 1)
        found = collections.Counter()
        with open(run.out, encoding="utf-8") as file:
            for line in file:
                frame = json.loads(line)
                found[frame["type"], frame["dir"]] += 1
        for kind in sorted(set(found) | set(SAID), key=lambda kind: (TYPES.index(kind[0]), kind[1])):
            if kind in SAID:
                report.equal("%s: %s %s" % (name, *kind), found[kind], SAID[kind])
            else:
                report.equal("%s: %s %s, as tshark says" % (name, *kind), found[kind], expected[kind])
