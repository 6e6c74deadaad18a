package import IMWire

/// A packet and the moment it was captured.
package struct TimedPacket: Sendable, Equatable {
  /// When it passed the capture.
  package var timestamp: Timestamp
  /// The bytes from the link header on.
  package var bytes: [UInt8]
  /// The `LINKTYPE_` value of its interface.
  package var linkType: UInt16
  /// The interface's index in the capture.
  package var interface: UInt16
  /// Bytes it had on the wire, where the capture is to say something else than `bytes.count`.
  package var originalLength: UInt32?

  /// A packet of its parts.
  package init(timestamp: Timestamp, bytes: [UInt8], linkType: UInt16 = 1, interface: UInt16 = 0) {
    self.timestamp = timestamp
    self.bytes = bytes
    self.linkType = linkType
    self.interface = interface
  }

  /// The same packet at another time.
  package init(_ packet: TimedPacket, at timestamp: Timestamp) {
    self = packet
    self.timestamp = timestamp
  }
}

/// Packets laid out as the engine takes them.
package struct Batch: Sendable {
  /// The packets' bytes, one after the other, and `PacketRecord.slack` zero bytes.
  package var bytes: [UInt8]
  /// Where each packet stands.
  package var records: [PacketRecord]
}

/// Lays packets out as a batch in memory or as the bytes of a pcap file.
package struct CaptureBuilder: Sendable {
  /// The packets, in the order the capture has them.
  package var packets: [TimedPacket]
  /// Bytes kept of every packet, at most.
  package var snapLength = 262_144

  /// A capture of `packets`, in the order given.
  package init(_ packets: [TimedPacket] = []) { self.packets = packets }

  /// A capture of several conversations, merged by time; equal times keep the order of the arguments.
  package init(_ conversations: ConversationBuilder...) {
    packets = conversations.flatMap(\.packets).enumerated().sorted { a, b in
      a.element.timestamp == b.element.timestamp ? a.offset < b.offset : a.element.timestamp < b.element.timestamp
    }.map(\.element)
  }

  /// The packets as one batch, numbered from `firstNumber`.
  package func batch(firstNumber: UInt64 = 1) -> Batch {
    var batch = Batch(bytes: [], records: [])
    for (index, packet) in packets.enumerated() {
      let kept = packet.bytes.prefix(snapLength)
      batch.records.append(
        PacketRecord(
          timestamp: packet.timestamp, number: firstNumber + UInt64(index), offset: UInt32(batch.bytes.count),
          capturedLength: UInt32(kept.count), originalLength: packet.originalLength ?? UInt32(packet.bytes.count),
          linkType: packet.linkType, interface: packet.interface))
      batch.bytes += kept
    }
    batch.bytes += [UInt8](repeating: 0, count: PacketRecord.slack)
    return batch
  }

  /// The packets as a pcap file, with the first packet's link type.
  ///
  ///      0        4      6      8       12       16        20         24
  ///     +--------+------+------+-------+--------+---------+----------+
  ///     | magic  | maj  | min  | zone  | sigfigs| snaplen | linktype |  then per packet: seconds, fraction,
  ///     +--------+------+------+-------+--------+---------+----------+  captured, original (u32 each), bytes
  ///
  /// Source: draft-ietf-opsawg-pcap.
  package func pcap(nanoseconds: Bool = false, bigEndian: Bool = false) -> [UInt8] {
    var file: [UInt8] = []
    func put(_ value: some FixedWidthInteger) {
      if bigEndian { file.append(big: value) } else { file.append(little: value) }
    }
    put(nanoseconds ? UInt32(0xa1b2_3c4d) : 0xa1b2_c3d4)
    put(UInt16(2))
    put(UInt16(4))
    put(UInt32(0))
    put(UInt32(0))
    put(UInt32(snapLength))
    put(UInt32(packets.first?.linkType ?? 1))
    for packet in packets {
      let fraction = packet.timestamp.nanoseconds - packet.timestamp.seconds * 1_000_000_000
      let kept = packet.bytes.prefix(snapLength)
      put(UInt32(truncatingIfNeeded: packet.timestamp.seconds))
      put(UInt32(nanoseconds ? fraction : fraction / 1_000))
      put(UInt32(kept.count))
      put(packet.originalLength ?? UInt32(packet.bytes.count))
      file += kept
    }
    return file
  }
}
