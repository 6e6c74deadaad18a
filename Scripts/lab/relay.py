"""Joins the namespaces: takes every frame from one side and hands it to the other, late, changed or not at all."""
import heapq
import json
import os
import random
import select
import struct
import time

from lab.frames import Capture, flip_bit, flip_payload_bit, is_control, tcp_span
from lab.namespace import Namespace
from lab.pipe import OPTIONS, Pipe

now = time.monotonic
PEER = {"client": "server", "server": "client"}


class Relay:
    """The link between the two ends, and the copy of it that an observer sees."""

    def __init__(self, options):
        self.options, self.is_tap = options, options.l2 == "tap"
        roles = ["server", "client"] + (["observer"] if options.observer else [])
        self.spaces = {role: Namespace(role, self.is_tap, options.mtu, options.ipv6) for role in roles}
        common = {key: getattr(options, key) for key in OPTIONS}
        hold = options.down_mode == "hold"
        self.pipes = {
            "client": Pipe("c2s", dict(common, **overrides(options.c2s)), options.seed, hold),
            "server": Pipe("s2c", dict(common, **overrides(options.s2c)), options.seed, hold)}
        self.downs = [tuple(map(float, part.split(":"))) for part in (options.down or "").split(",") if part]
        self.damage = random.Random("%s/mangle" % options.seed)
        self.sight = random.Random("%s/observer" % options.seed)
        self.seen = dict(copied=0, lost=0, write_failed=0)
        paths = {"server": options.pcap_server, "client": options.pcap_client, "mid": options.pcap_mid}
        self.captures = {place: Capture(path, self.is_tap) for place, path in paths.items() if path}
        self.truth = open(options.truth, "w", 1 << 16) if options.truth else None
        self.waiting, self.order = [], 0
        self.wall = time.time_ns() - int(now() * 1e9)
        self.began, self.switches = now(), []
        self.late_sum, self.late_most, self.handed = 0.0, 0.0, 0

    def start_clock(self, has_outages):
        """Outages count from now on."""
        self.began = now()
        downs = [(self.began + at, self.began + at + length) for at, length in self.downs] if has_outages else []
        is_switched = self.options.down_mode == "ifdown"
        for pipe in self.pipes.values():
            pipe.downs = [] if is_switched else downs
        self.switches = sorted([(at, False) for at, _ in downs] + [(end, True) for _, end in downs]) if is_switched else []

    def stamp(self, moment):
        return self.wall + int(moment * 1e9)

    def observe(self, moment, frame):
        if "mid" in self.captures:
            self.captures["mid"].add(self.stamp(moment), frame)
        if "observer" not in self.spaces:
            return
        if self.sight.random() < self.options.observer_loss:
            self.seen["lost"] += 1
            return
        try:
            os.write(self.spaces["observer"].device, frame)
            self.seen["copied"] += 1
        except OSError:
            self.seen["write_failed"] += 1

    def take(self, role, frame, moment):
        """A frame that `role` sends."""
        peer, pipe = PEER[role], self.pipes[role]
        if is_control(frame, self.is_tap):
            pipe.books["passed_control"] += 1
            try:
                os.write(self.spaces[peer].device, frame)
            except OSError:
                pass
            return
        if role in self.captures:
            self.captures[role].add(self.stamp(moment), frame)
        if self.options.observe_at == role:
            self.observe(moment, frame)
        verdict, deliveries = pipe.decide(moment, len(frame))
        for out, change in deliveries:
            changed = flip_bit(frame, self.is_tap, self.damage) if "c" in change else frame
            if "a" in change:
                damaged = flip_payload_bit(frame, self.is_tap, self.damage)
                if damaged and "d" not in change:
                    pipe.books["corrupted_app"] += 1
                changed = damaged or frame
            heapq.heappush(self.waiting, (out, self.order, peer, role, changed))
            self.order += 1
        if self.truth:
            self.truth.write(json.dumps(self.record(frame, moment, pipe, verdict, deliveries)) + "\n")

    def record(self, frame, moment, pipe, verdict, deliveries):
        entry = {"t": round(moment - self.began, 6), "dir": pipe.name, "len": len(frame), "verdict": verdict}
        span = tcp_span(frame, self.is_tap)
        if span:
            sport, dport, seq, ack = struct.unpack_from("!HHII", frame, span[0])
            entry.update(sport=sport, dport=dport, seq=seq, ack=ack, flags=frame[span[0] + 13],
                         payload=max(0, span[2] - span[1]))
        if deliveries:
            entry.update(out=[round(out - self.began, 6) for out, _ in deliveries],
                         fx="".join(sorted(set("".join(change for _, change in deliveries)))))
        return entry

    def hand_out(self, moment):
        while self.waiting and self.waiting[0][0] <= moment:
            out, _, peer, role, frame = heapq.heappop(self.waiting)
            self.late_sum += moment - out
            self.late_most = max(self.late_most, moment - out)
            self.handed += 1
            try:
                os.write(self.spaces[peer].device, frame)
                self.pipes[role].books["delivered"] += 1
            except OSError:
                self.pipes[role].books["lost_at_delivery"] += 1
                continue
            if peer in self.captures:
                self.captures[peer].add(self.stamp(moment), frame)
            if self.options.observe_at == peer:
                self.observe(moment, frame)

    def run(self, until, pause=0.05):
        """Relays frames until `until()` holds, which is asked every `pause` seconds."""
        devices = {space.device: role for role, space in self.spaces.items()}
        checked = now()
        while True:
            moment = now()
            self.hand_out(moment)
            while self.switches and self.switches[0][0] <= moment:
                self.spaces["client"].set_up(self.switches.pop(0)[1])
            if moment - checked >= pause:
                checked = moment
                for capture in self.captures.values():
                    capture.file.flush()
                if until():
                    return
            wait = min(pause, max(0.0, self.waiting[0][0] - now())) if self.waiting else pause
            try:
                ready = select.select(list(devices), [], [], wait)[0]
            except InterruptedError:
                continue
            for device in ready:
                for _ in range(128):
                    try:
                        frame = os.read(device, 65536)
                    except OSError:
                        break
                    if devices[device] != "observer":
                        self.take(devices[device], frame, now())

    def report(self):
        """What happened, in numbers that add up."""
        for _, _, _, role, _ in self.waiting:
            self.pipes[role].books["in_flight_at_exit"] += 1
        result = {"seed": self.options.seed, "began_ns": self.stamp(self.began), "ran_s": round(now() - self.began, 3),
                  "lateness_ms": {"mean": round(self.late_sum / max(1, self.handed) * 1e3, 3),
                                  "max": round(self.late_most * 1e3, 3)}}
        for pipe in self.pipes.values():
            result[pipe.name] = pipe.report()
        if self.options.observer:
            result["observer"] = self.seen
        for capture in self.captures.values():
            capture.close()
        result["pcap_frames"] = {place: capture.count for place, capture in self.captures.items()}
        if self.truth:
            self.truth.close()
        return result

    def close(self):
        for space in self.spaces.values():
            space.close()


def overrides(text):
    """loss=0.1,delay=5 as a dictionary"""
    pairs = (part.split("=", 1) for part in (text or "").split(",") if part)
    return {key.replace("-", "_"): value for key, value in pairs}
