"""What a perfect observer at the tap would say: computed from what was written and when the tap saw it."""
import collections

from . import wire
from .tcp import FIN, RST, SECOND, SYN

ACK_TIMEOUT = 6 * SECOND
SIDES = ("c2s", "s2c")


def visible(connection, direction, packets):
    """(time, frame) of each frame that the capture holds whole, and the stretches [first, last) of the stream it holds.

    A frame's time is that of the packet that made its last byte contiguous with the stream's first captured byte,
    or with the first byte after a hole that the capture never fills.
    """
    pieces = [(p.time, p.start, p.start + len(p.payload)) for p in packets
              if p.connection is connection and p.direction == direction and p.payload]
    stretches = []
    for start, end in sorted((start, end) for _, start, end in pieces):
        if stretches and start <= stretches[-1][1]:
            stretches[-1][1] = max(end, stretches[-1][1])
        else:
            stretches.append([start, end])
    found = []
    for first, last in stretches:
        frames = [f for f in connection.frames[direction] if first <= f[0] and f[1] <= last]
        front, held = first, []
        for time, start, end in pieces:
            if first <= start < last:
                held.append((start, end))
                for a, b in sorted(held):
                    if a <= front < b:
                        front = b
                while frames and frames[0][1] <= front:
                    found.append((time, frames.pop(0)[2]))
    return found, stretches


def is_frame(frame):
    return frame.version == (1, 0) and (frame.claim is None or frame.claim <= len(frame.body))


def holes(own, direction, stretches):
    """When the capture shows first that bytes of a direction were sent which it never holds: one time for each hole."""
    times = []
    for (_, start), (end, _) in zip(stretches, stretches[1:]):
        behind = [p.time for p in own if p.direction == direction and p.payload and p.start >= end]
        told = [p.time for p in own if p.direction != direction and p.acknowledged > start]
        times.append(min(behind + told))
    return times


def fate(unit, end, closed, missing):
    if unit["acks"]:
        return "acked_after_retry" if unit["retries"] else "acked"
    if all(crc == "bad" for crc in unit["crc"]):
        return "damaged"
    over = min(unit["ts"][-1] + ACK_TIMEOUT, closed or unit["ts"][-1] + ACK_TIMEOUT)
    if over > end:
        return "pending"
    lost = missing[1 - SIDES.index(unit["dir"])]
    return "unknown" if any(unit["ts"][0] < time <= over for time in lost) else "unanswered"


def units(connection, index, seen):
    """The messages of one connection. `seen` is [(time, direction, frame)]."""
    acks, grouped = collections.defaultdict(list), collections.OrderedDict()
    for time, direction, frame in seen:
        if frame.kind == wire.ACK:
            acks[1 - direction, frame.acks].append(time)
        else:
            grouped.setdefault((direction, frame.kind, frame.sequence), []).append((time, frame))
    for (direction, kind, sequence), copies in grouped.items():
        first, head = copies[0]
        answers = sorted(time for time in acks[direction, sequence] if time >= first)
        early = [c for c in copies[1:] if not answers or c[0] <= answers[0]]
        retried = [c for before, c in zip(copies, copies[1:])
                   if c in early and (c[0] - before[0] >= SECOND or c[1].second != before[1].second)]
        unit = {"conn": index, "dir": SIDES[direction], "type": wire.type_name(kind), "seq": sequence,
                "session": head.session, "ts": [time for time, _ in copies], "crc": [f.checksum for _, f in copies],
                "len": len(head.body) if head.claim is None else head.claim, "acks": answers,
                "retries": len(early), "dup_after_ack": len(copies) - 1 - len(early), "app_retries": len(retried)}
        if answers:
            unit["rtt_us"] = answers[0] - first
        fields = wire.tree(head.plain) if head.plain else None
        if fields is not None and kind != wire.ACK and head.claim is None:
            unit["tlv"] = fields
        if kind == wire.DATA:
            unit["comp"] = head.compression
        yield unit


def compute(connections, packets, end):
    counts, messages, rows, reconnects = collections.Counter(), [], [], []
    ended = {}
    for index, connection in enumerate(connections):
        own = [p for p in packets if p.connection is connection]
        syn = next((p.time for p in own if p.flags & SYN and p.direction == 0), None)
        opened = next((p.time for p in own if p.direction == 0 and not p.flags & (SYN | RST)), None) if syn else None
        closed = next((p.time for p in own if p.flags & (FIN | RST)), None)
        result = "ok" if opened else "refused" if closed and syn else "timeout" if syn else "midstream"
        session = connection.ends[0].application.session
        row = {"session": session, "client": "%s %d" % connection.addresses[0],
               "server": "%s %d" % connection.addresses[1], "result": result}
        row.update({k: v for k, v in (("syn_us", syn), ("est_us", opened), ("close_us", closed)) if v})
        rows.append(row)
        if syn:
            counts["connection_attempts"] += 1
            counts["connection_" + ("success" if opened else result)] += 1
        phone = connection.ends[0].application
        if opened and phone in ended:
            counts["reconnects"] += 1
            reconnects.append({"session": session, "from": ended[phone], "to": opened})
        if opened or not syn:
            ended[phone] = closed or end
        seen, missing = [], []
        for direction in (0, 1):
            found, stretches = visible(connection, direction, own)
            missing.append(holes(own, direction, stretches))
            counts["gaps"] += max(0, len(stretches) - 1)
            counts["gap_bytes"] += sum(b[0] - a[1] for a, b in zip(stretches, stretches[1:]))
            seen += [(time, direction, frame) for time, frame in found if is_frame(frame)]
        seen.sort(key=lambda item: item[0])
        for _, direction, frame in seen:
            size = len(frame.body) if frame.claim is None else frame.claim
            counts["stream_bytes"] += 28 + size
            for name in ("frames", "frames_" + wire.type_name(frame.kind), "frames_" + SIDES[direction],
                         "crc_" + frame.checksum):
                counts[name] += 1
            counts["body_bytes"] += size
        known = list(units(connection, index, seen))
        counts["orphan_acks"] += sum(f.kind == wire.ACK for _, _, f in seen) - sum(len(u["acks"]) for u in known)
        for unit in known:
            if unit["type"] in wire.NAMES.values():
                unit["fate"] = fate(unit, end, closed, missing)
        messages += known
    for unit in messages:
        counts["units_" + unit["type"]] += 1
        counts["retries"] += unit.pop("app_retries")
        if "fate" in unit:
            counts[("acked_" if unit["acks"] else unit["fate"] + "_") + unit["type"]] += 1
        counts["dup_acks"] += max(0, len(unit["acks"]) - 1)
    return {"counters": dict(sorted(counts.items())), "connections": rows, "reconnects": reconnects,
            "messages": sorted(messages, key=lambda unit: unit["ts"][0])}
