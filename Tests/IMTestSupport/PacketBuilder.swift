package import IMWire

/// An IPv6 header between the fixed one and TCP.
package struct IPv6ExtensionHeader: Sendable, Equatable {
  /// Its number: 0 hop-by-hop options, 43 routing, 60 destination options.
  package var kind: UInt8
  /// What follows its first two bytes; filled up with zero bytes (Pad1) to a multiple of eight.
  package var content: [UInt8]

  /// A header of `kind`, with six bytes of padding unless told otherwise.
  package init(kind: UInt8, content: [UInt8] = []) {
    self.kind = kind
    self.content = content
  }
}

/// Makes captured packets: a link header, an IP header and a payload, with right checksums or deliberately wrong ones.
///
///     var builder = PacketBuilder(link: .vlan([42]))
///     let bytes = builder.packet(segment, from: phone, to: server)
package struct PacketBuilder: Sendable {
  /// The link the packets are captured on.
  package var link: LinkLayer
  /// Options of every IPv4 header, filled up with zero bytes to a multiple of four.
  package var ipv4Options: [UInt8] = []
  /// Extension headers of every IPv6 packet.
  package var extensionHeaders: [IPv6ExtensionHeader] = []
  /// Which IPv4 header checksum to write.
  package var ipv4Checksum: ChecksumKind = .correct
  /// Time to live, or hop limit.
  package var hopLimit: UInt8 = 64
  /// The identification of the next packet; counts up by itself.
  package var identification: UInt32 = 1
  /// Bytes after the IP packet, as Ethernet pads short frames.
  package var trailer: [UInt8] = []

  /// A builder for packets on `link`.
  package init(link: LinkLayer = .ethernet) { self.link = link }

  /// The packet that carries `segment` between two addresses of one family.
  package mutating func packet(_ segment: TCPSegment, from source: IPAddress, to destination: IPAddress) -> [UInt8] {
    packet(protocolNumber: 6, segment.bytes(from: source, to: destination), from: source, to: destination)
  }

  /// The packet that carries `payload` of any protocol.
  package mutating func packet(
    protocolNumber: UInt8, _ payload: [UInt8], from source: IPAddress, to destination: IPAddress
  ) -> [UInt8] {
    defer { identification &+= 1 }
    if source.isIPv6 {
      let (first, extensions) = chain(extensionHeaders, before: protocolNumber)
      return frame(ipv6(first, extensions + payload, from: source, to: destination), isIPv6: true)
    }
    // Bit 0x4000 is "don't fragment".
    return frame(ipv4(protocolNumber, payload, fragment: 0x4000, from: source, to: destination), isIPv6: false)
  }

  /// `segment` cut into IP fragments of at most `size` payload bytes each, which must be a multiple of eight.
  package mutating func fragments(
    of segment: TCPSegment, from source: IPAddress, to destination: IPAddress, size: Int
  ) -> [[UInt8]] {
    fragments(
      protocolNumber: 6, segment.bytes(from: source, to: destination), from: source, to: destination, size: size)
  }

  /// The same of a `payload` of any protocol.
  package mutating func fragments(
    protocolNumber: UInt8, _ payload: [UInt8], from source: IPAddress, to destination: IPAddress, size: Int
  ) -> [[UInt8]] {
    precondition(size > 0 && size.isMultiple(of: 8), "a fragment is a multiple of eight bytes")
    defer { identification &+= 1 }
    return stride(from: 0, to: payload.count, by: size).map { start in
      let part = [UInt8](payload[start..<min(start + size, payload.count)])
      let more = start + size < payload.count
      guard source.isIPv6 else {
        let field = UInt16(start / 8) | (more ? 0x2000 : 0)
        return frame(ipv4(protocolNumber, part, fragment: field, from: source, to: destination), isIPv6: false)
      }
      var header: [UInt8] = [protocolNumber, 0]
      header.append(big: UInt16(start) | (more ? 1 : 0))
      header.append(big: identification)
      let (first, extensions) = chain(extensionHeaders, before: 44)
      return frame(ipv6(first, extensions + header + part, from: source, to: destination), isIPv6: true)
    }
  }

  /// The bytes of `headers` in a row, ended by `last`, and the number that announces the first of them.
  private func chain(_ headers: [IPv6ExtensionHeader], before last: UInt8) -> (first: UInt8, bytes: [UInt8]) {
    var bytes: [UInt8] = []
    for (index, header) in headers.enumerated() {
      let next = index + 1 < headers.count ? headers[index + 1].kind : last
      let length = 2 + header.content.count
      let padding = (8 - length % 8) % 8
      bytes += [next, UInt8((length + padding) / 8 - 1)] + header.content
      bytes += [UInt8](repeating: 0, count: padding)
    }
    return (headers.first?.kind ?? last, bytes)
  }

  private func ipv4(
    _ protocolNumber: UInt8, _ payload: [UInt8], fragment: UInt16, from source: IPAddress, to destination: IPAddress
  ) -> [UInt8] {
    let options = ipv4Options + [UInt8](repeating: 0, count: (4 - ipv4Options.count % 4) % 4)
    let headerLength = 20 + options.count
    var bytes: [UInt8] = [0x40 | UInt8(headerLength / 4), 0]
    bytes.append(big: UInt16(headerLength + payload.count))
    bytes.append(big: UInt16(truncatingIfNeeded: identification))
    bytes.append(big: fragment)
    bytes += [hopLimit, protocolNumber, 0, 0]
    bytes.append(source)
    bytes.append(destination)
    bytes += options
    bytes.overwrite(at: 10, big: ipv4Checksum.value(internetChecksum(bytes)))
    return bytes + payload
  }

  private func ipv6(_ next: UInt8, _ payload: [UInt8], from source: IPAddress, to destination: IPAddress) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(big: UInt32(0x6000_0000))
    bytes.append(big: UInt16(payload.count))
    bytes += [next, hopLimit]
    bytes.append(source)
    bytes.append(destination)
    return bytes + payload
  }

  private func frame(_ packet: [UInt8], isIPv6: Bool) -> [UInt8] {
    link.header(isIPv6: isIPv6, source: MACAddress(1), destination: MACAddress(2)) + packet + trailer
  }
}
