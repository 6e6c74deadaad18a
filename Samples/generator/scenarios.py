"""What happens in each capture. README.md says the same in prose."""
import base64
import zlib

from . import wire
from .wire import field, nested, text
from .world import World

LONG = "弱网环境下的即时通讯：丢包、乱序、重传、心跳与重连。" * 12
LONG_BODY = text(LONG)
# zlib's own output, kept so that another zlib makes the same capture.
LONG_COMPRESSED = base64.b64decode(
    "eJwTYGRgYF7xdM/G53snPu9b/3RR85Md3c9ntTzt3fxs+raXDbNerFv/fs+sJzsWPe1pfdzQ+GTnxqe7+oGMl+29T/YsADKe7m9+"
    "sX3zkx19QJEX++c9bmgaNW3UtFHTaGEaAIIWlsc=")
assert zlib.decompress(LONG_COMPRESSED) == LONG_BODY


def clean_chat():
    world = World(seed=1, small_cuts=150)
    server = world.server
    server.answers_handshake = True
    li = world.phone("3F2A91C4-77D0-4E1B-9C55-0A1B2C3D4E5F", "192.0.2.21", 51001)
    wang = world.phone("B84D02E7-1C3F-4A60-8E21-F0E1D2C3B4A5", "198.51.100.35", 42310)
    server.forward = {li.session: wang, wang.session: li}
    world.at(0, li.connect)
    world.at(0.8, wang.connect)
    picture = bytes(world.dice.below(256) for _ in range(9000))
    lines = [
        (3.0, li, text("你好，到地铁站了吗？")), (7.4, wang, text("刚进站，信号不太好 😅")),
        (11.2, li, text("没关系，慢慢来")), (12.0, li, text("I'll wait at exit B 🚇")),
        (18.9, wang, text("ok") + nested(field(wire.STATUS, b"\x01"), nested(text("在隧道里")))),
        (26.5, li, field(wire.IMAGE, b"\xff\xd8\xff\xe0" + picture)),
        (41.3, wang, text("看到了 👍🏽")), (47.7, li, text("家庭 👨‍👩‍👧‍👦 也来了")),
        (66.1, wang, text("五分钟后到")), (72.8, li, text("好")), (80.2, wang, text("到了！")),
    ]
    for time, phone, body in lines:
        world.at(time, phone.message, body)
    world.at(55.0, li.message, LONG_COMPRESSED, compression="zlib", plain=LONG_BODY)
    world.at(92, li.leave)
    world.at(94, wang.leave)
    return world.run(97)


def weak_network():
    world = World(seed=7, small_cuts=250, near=60_000, far=12_000, lose_before=30, lose_after=40, hold=35)
    server = world.server
    # On a train: the second heartbeat is never answered; then a refusal, a silence, and the same counters go on.
    train = world.phone("6C01D3FA-25B8-4B7E-A1D0-93E2C4F57A18", "192.0.2.77", 50110)
    world.at(0, train.connect)
    for number in range(11):
        world.at(2 + number * 2.3, train.message, text("列车消息 %d" % number))
    world.at(1.2, lambda: server.ignore.update({(train.session, train.counters.last[0] + 3): 1,
                                                (train.session, train.counters.last[0] + 6): 2}))
    world.at(20, lambda: server.ignore.update({(train.session, 1 << 24 | train.counters.last[1] + 1 & 0xFFFFFF): 1}))
    train.answers = ["yes", "refuse", "silence"]
    for number in range(4):
        world.at(100 + number * 1.7, train.message, text("back online %d" % number))
    # From Wi-Fi to cellular: another address, the same session. Pushed messages, one message written twice.
    walker = world.phone("E95B7740-8AC2-4D13-B6F8-5D4C3B2A1908", "198.51.100.8", 40600)
    world.at(0.4, walker.connect)
    for number in range(9):
        world.at(3.1 + number * 4.3, walker.message, text("走路 %d 🚶" % number), times=2 if number == 4 else 1)
        world.at(4.9 + number * 4.1, server.push, walker, text("push %d" % number), {"checksum": "le"})
    world.at(28, lambda: server.ignore.update({(walker.session, walker.counters.last[0] + 1): 1}))
    world.at(44, setattr, walker, "address", "100.64.17.4")
    world.at(44, walker.drop, "fin")
    for number in range(6):
        world.at(54 + number * 3.7, walker.message, text("4G %d" % number) + nested(field(wire.STATUS, bytes([number]))))
    world.at(64, lambda: server.ignore.update({(walker.session, walker.counters.last[0] + 1): 1}))
    # In a lift: an ACK so slow that it crosses the retry; then the server resets and an open message stays unanswered.
    lift = world.phone("0D7E5A93-4F61-4C28-97BB-21A0E6D8C3F4", "203.0.113.99", 36044)
    world.at(1.1, lift.connect)
    for number in range(5):
        world.at(4 + number * 5, lift.message, text("电梯 %d" % number))
    world.at(8, lambda: server.slow.update({(lift.session, lift.counters.last[0] + 1): 2_890_000}))
    world.at(28, lambda: server.ignore.update({(lift.session, lift.counters.last[0] + 1): 9}))
    world.at(28.1, lift.message, text("最后一条"))
    world.at(29.7, lambda: lift.connection.ends[1].abort())
    for number in range(5):
        world.at(38 + number * 6, lift.message, text("又有信号了 %d" % number))
    # Open at the end of the capture.
    world.at(108.5, lambda: server.ignore.update({(lift.session, lift.counters.last[0] + 1): 9}))
    world.at(108.6, lift.message, text("pending"))
    return world.run(110)


def nat():
    """A phone behind a NAT that forgets a silent connection within 6 minutes: a heartbeat a minute until the app is put to sleep."""
    world = World(seed=29, near=31_000, far=9_000)
    phone = world.phone("3B9ACA00-7E57-4C0D-9A1B-2F6D8E4C5A70", "192.0.2.41", 47310)
    phone.heartbeat_seconds = 60
    world.at(0, phone.connect)
    for number in range(3):
        world.at(5 + number * 100, phone.message, text("在吗 %d" % number))
    world.at(290, setattr, phone, "heartbeat_seconds", 400)
    # What is sent from here on passes the tap, and no translation behind it.
    world.at(430, lambda: setattr(phone.connection, "unreachable", True))
    world.at(760, setattr, phone, "heartbeat_seconds", 60)
    return world.run(900)


def damage():
    world = World(seed=11)
    server = world.server
    crc = world.phone("51F0A2B3-C4D5-4E6F-8A9B-0C1D2E3F4A5B", "192.0.2.1", 41000)
    noise = world.phone("62E1B3C4-D5E6-4F70-9BAC-1D2E3F4A5B6C", "192.0.2.2", 41100)
    fields = world.phone("73D2C4D5-E6F7-4081-ACBD-2E3F4A5B6C7D", "192.0.2.3", 41200)
    gap = world.phone("84C3D5E6-F708-4192-BDCE-3F4A5B6C7D8E", "192.0.2.4", 41300)
    late = world.phone("95B4E6F7-0819-42A3-8EDF-4A5B6C7D8E9F", "192.0.2.5", 41400)
    for number, phone in enumerate((late, crc, noise, fields, gap)):
        world.at(number * 0.2, phone.connect)

    # Checksums: good; bad, then mended by the retry; bad twice; little-endian from the server; a heartbeat with one.
    world.at(2, crc.message, text("good"))
    world.at(3, crc.message, text("bad once"), checksum="bad")
    world.at(4, crc.message, text("bad twice"), checksum="bad", again="bad")
    for number in range(3):
        world.at(5 + number, server.push, crc, text("小端校验 %d" % number), {"checksum": "le"})
    world.at(9, lambda: crc.put(wire.Frame(wire.HEARTBEAT, crc.counters.next(1), crc.session, checksum="bad")))
    world.at(12, crc.message, text("still here"))

    # Bytes between frames, and headers that lie.
    def loose(phone, *parts):
        phone.put(*parts)

    def liar(body, **lies):
        return wire.Frame(wire.DATA, noise.counters.next(0), noise.session, body, encryption=1, **lies)

    magic = wire.MAGIC.to_bytes(4, "big")
    world.at(2, noise.message, text("before the noise"))
    world.at(3, lambda: loose(noise, b"HTTP/1.1 400 Bad Request\r\n\r\n", liar(text("behind text"))))
    world.at(4, lambda: loose(noise, magic[:3] + magic + b"\x09\x09" + b"x" * 40, liar(text("behind a false magic"))))
    world.at(5, lambda: loose(noise, liar(text("length of 2 GB"), claim=0x7FFFFFFF), liar(text("behind 2 GB"))))
    world.at(6, lambda: loose(noise, liar(text("version 2.0 is not known here"), version=(2, 0)), liar(text("behind 2.0"))))
    short = text("twenty bytes of this body are claimed")
    world.at(7, lambda: loose(noise, liar(short[:20], checksum="bad"), short[20:], liar(text("behind a short claim"))))
    world.at(9, noise.message, text("after the noise"))
    world.at(15, lambda: loose(noise, liar(text("more is claimed than comes"), claim=4096)))
    world.at(16, noise.leave)

    # Bodies: nesting, tags twice, unknown tags and types, fields that do not fit, labels.
    def send(time, body, **settings):
        world.at(time, fields.message, body, **settings)

    deep = text("level 6")
    for level in range(6):
        deep = field(wire.STATUS, bytes([6 - level])) + nested(deep)
    send(2, deep)
    send(3, text("one") + text("two"))
    send(4, nested(text("left")) + nested(text("right")))
    send(5, field(0x0BAD, b"unknown tag") + text("known"))
    send(6, field(wire.TEXT, b"0123456789")[:-4])
    send(7, text("cut") + b"\x10")
    send(8, text("not compressed at all"), compression="label-only")
    send(9, LONG_COMPRESSED, compression="zlib", plain=LONG_BODY)
    send(10, bytes(range(64)), encryption=2, plain=None)
    send(11, b"")
    world.at(12, lambda: fields.put(wire.Frame(9, fields.counters.next(0), fields.session, text("type 9"))))
    send(13, text(""))

    # Segments that the other side acknowledged but the capture lacks: a whole frame, then the middle of one. Behind the
    # hole in the second, a sound frame shares the segment that ends the damaged one.
    def hide_payload(offsets):
        """Hides the segments of the gap's phone that begin at these offsets beyond what it has sent so far."""
        starts = [gap.connection.ends[0].sent + offset for offset in offsets]
        world.network.hiding.append(
            lambda p: p.connection is gap.connection and p.direction == 0 and p.payload and p.start in starts)

    large = field(wire.FILE_TRANSFER, bytes(n % 251 for n in range(4000)))
    world.at(2, gap.message, text("before the gap"))
    world.at(5, hide_payload, [0])
    world.at(5, gap.message, text("never seen, but acknowledged"))
    world.at(8, gap.message, text("behind the first gap"))
    world.at(12, hide_payload, [1400])
    world.at(12, gap.burst, [(large, {}), (text("in the segment behind the hole"), {})])
    world.at(15, gap.message, text("behind the second gap"))

    # The capture begins in the middle of this connection, in the second segment of a frame.
    begun = []

    def before_capture(packet):
        if packet.connection is late.connection and packet.direction == 0 and len(packet.payload) == 1400:
            begun.append(packet)
        return packet.connection is late.connection and len(begun) < 2

    world.network.hiding.append(before_capture)
    world.at(3, late.message, field(wire.FILE_TRANSFER, bytes(n % 249 for n in range(4500))))
    for number in range(4):
        world.at(4 + number * 2, late.message, text("第 %d 条" % number))
        world.at(4.7 + number * 2, server.push, late, text("push %d" % number))
    for number, phone in enumerate((crc, fields, gap, late)):
        world.at(22 + number, phone.leave)
    return world.run(28)


def ipv6_vlan():
    world = World(seed=23, server="2001:db8:8080::10", small_cuts=200, lose_after=15)
    server = world.server
    # Counters and TCP numbers about to wrap: FEFFFF is followed by 0.
    wrap = world.phone("A1B2C3D4-0001-4002-8003-A4B5C6D7E8F9", "2001:db8:1::21", 49200)
    wrap.counters.last[0] = 0xFEFFFB
    # Another phone whose identifier folds to the same sixteen bits.
    twin = world.phone("C3D4A1B2-0009-4008-8007-F9E8D7C6B5A4", "2001:db8:2::22", 49300)
    split = world.phone("5E6F7081-92A3-44B4-85C5-D6E7F8091A2B", "2001:db8:3::23", 49400)
    assert wrap.session == twin.session != split.session

    def open_near_wrap():
        world.initial = (0xFFFFFF00, 0xFFFFFE80)
        wrap.connect()

    world.at(0, open_near_wrap)
    world.at(0.5, twin.connect)
    world.at(1.0, split.connect)
    for number in range(8):
        world.at(2 + number * 4, wrap.message, text("回绕 %d" % number))
        world.at(3 + number * 4, twin.message, text("twin %d" % number))
        world.at(4 + number * 4, split.message, text("split %d" % number) + nested(text("🛰️")))
        world.at(5 + number * 4, server.push, split, text("下行 %d" % number))
    for number, phone in enumerate((wrap, twin, split)):
        world.at(40 + number, phone.leave)
    world.interfaces = ["eth0", "eth1"]

    def placed(packet):
        """Interface, VLAN tags, packet: one tag on eth0, two on eth1, and a connection whose two ways come in on both."""
        phone = packet.connection.ends[0].application
        if phone is wrap:
            return 0, (42,), packet
        if phone is twin:
            return 1, (100, 42), packet
        return packet.direction, (7,) if packet.direction == 0 else (), packet

    world.placed = placed
    return world.run(45)


ALL = {
    "tjp-clean-chat.pcap": clean_chat,
    "tjp-weak-network.pcap": weak_network,
    "tjp-damage.pcap": damage,
    "tjp-nat.pcap": nat,
    "tjp-ipv6-vlan.pcapng": ipv6_vlan,
}
