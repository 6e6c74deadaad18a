"""One direction of the link: what happens to each frame is drawn from a seed."""
import math
import random

OPTIONS = ("loss", "burst", "delay", "reorder", "dup", "corrupt", "corrupt_app", "rate", "queue", "free_order")
UNITS = {"k": 1e3, "m": 1e6, "g": 1e9}


def parse_rate(text):
    text = text.lower().replace("bit/s", "").replace("bps", "").replace("bit", "")
    return float(text[:-1]) * UNITS[text[-1]] if text and text[-1] in UNITS else float(text or 0)


def parse_delay(text):
    """Milliseconds: 50 is constant, 200:800 uniform, 50~10 normal with mean and deviation."""
    for sign, kind in ((":", "uniform"), ("~", "normal")):
        if sign in text:
            first, second = map(float, text.split(sign))
            return kind, first, second
    return "uniform", float(text), float(text)


class Pipe:
    """One direction. Every frame draws as many numbers as any other, so verdict k depends on the seed and k alone."""

    def __init__(self, name, options, seed, hold):
        self.name, self.random = name, random.Random("%s/%s" % (seed, name))
        self.loss = float(options.get("loss") or 0)
        self.delay = parse_delay(str(options.get("delay") or "0"))
        self.dup = float(options.get("dup") or 0)
        self.corrupt = float(options.get("corrupt") or 0)
        self.corrupt_app = float(options.get("corrupt_app") or 0)
        reorder = str(options.get("reorder") or "0").split(":")
        self.reorder, self.held_back = float(reorder[0]), float(reorder[1]) / 1e3 if len(reorder) > 1 else 0.05
        self.burst = [float(part) for part in options["burst"].split(":")] if options.get("burst") else None
        if self.burst and len(self.burst) == 2:
            self.burst.append(1.0)
        self.rate = parse_rate(str(options["rate"])) if options.get("rate") else 0
        self.queue = int(options.get("queue") or 65536)
        self.free_order = str(options.get("free_order", "")).lower() in ("1", "true", "yes")
        self.downs, self.hold = [], hold
        self.is_bad = False
        self.free_at = self.last_out = 0.0
        self.books = dict(
            frames_in=0, bytes_in=0, lost_random=0, lost_burst=0, lost_link_down=0, lost_queue_full=0, duplicated=0,
            reordered=0, corrupted=0, corrupted_app=0, delivered=0, lost_at_delivery=0, in_flight_at_exit=0,
            passed_control=0)
        self.delay_sum, self.delay_least, self.delay_most = 0.0, None, None

    def decide(self, now, size):
        """(verdict, [(when to deliver, what to do to it)])"""
        books, draw = self.books, self.random.random
        r1, r2, r3, r4, r5, r6, r7 = (draw() for _ in range(7))
        books["frames_in"] += 1
        books["bytes_in"] += size
        if self.burst:
            self.is_bad = (r1 < self.burst[0]) if not self.is_bad else not r1 < self.burst[1]
        held = 0.0
        for begin, end in self.downs:
            if begin <= now < end:
                if not self.hold:
                    books["lost_link_down"] += 1
                    return "link_down", ()
                held = end
        if self.burst and self.is_bad and r2 < self.burst[2]:
            books["lost_burst"] += 1
            return "burst", ()
        if r3 < self.loss:
            books["lost_random"] += 1
            return "random", ()
        start = max(now, held)
        if self.rate:
            turn = max(start, self.free_at)
            if (turn - start) * self.rate / 8 > self.queue:
                books["lost_queue_full"] += 1
                return "queue", ()
            start = self.free_at = turn + size * 8 / self.rate
        out, change = start + self._delay(r4, r5) / 1e3, ""
        if r6 < self.reorder:
            out += self.held_back
            books["reordered"] += 1
            change += "r"
        elif not self.free_order:
            # Jitter alone never lets a frame overtake another.
            out = self.last_out = max(out, self.last_out)
        if r7 < self.corrupt:
            change += "c"
            books["corrupted"] += 1
        elif r7 < self.corrupt + self.corrupt_app:
            change += "a"
        self._count_delay((out - now) * 1e3)
        deliveries = [(out, change)]
        if self.dup and (r5 * 7919.0) % 1.0 < self.dup:
            books["duplicated"] += 1
            deliveries.append((out, change + "d"))
        return "ok", deliveries

    def _delay(self, u1, u2):
        kind, first, second = self.delay
        if kind == "uniform":
            return first + (second - first) * u1
        return max(0.0, first + second * math.sqrt(-2 * math.log(max(u1, 1e-12))) * math.cos(2 * math.pi * u2))

    def _count_delay(self, milliseconds):
        self.delay_sum += milliseconds
        self.delay_least = milliseconds if self.delay_least is None else min(milliseconds, self.delay_least)
        self.delay_most = milliseconds if self.delay_most is None else max(milliseconds, self.delay_most)

    def report(self):
        """The books of this direction, and whether they balance."""
        books = dict(self.books)
        lost = sum(books[key] for key in ("lost_random", "lost_burst", "lost_link_down", "lost_queue_full"))
        passed = books["frames_in"] - lost
        books["loss_ratio"] = round(lost / books["frames_in"], 5) if books["frames_in"] else 0
        books["delay_ms"] = {"mean": round(self.delay_sum / passed, 3) if passed else None,
                             "min": self.delay_least, "max": self.delay_most}
        books["balanced"] = passed + books["duplicated"] == (
            books["delivered"] + books["lost_at_delivery"] + books["in_flight_at_exit"])
        return books
