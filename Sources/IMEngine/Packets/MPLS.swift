extension PacketParser {
  /// A stack of MPLS labels, four bytes each, and what stands below it (RFC 3032).
  ///
  ///      0          20     23  24      32 bits
  ///     +----------+------+---+-------+
  ///     | label    | class| S | hops  |   S marks the last label
  ///     +----------+------+---+-------+
  ///
  /// Nothing names the payload: IP is told by its version. Anything else is the Ethernet of a pseudowire, behind its
  /// control word where the first half byte is 0 (RFC 4385) and a known type follows in its place; else without one.
  mutating func mpls(
    _ bytes: borrowing Bytes, _ offset: Int, _ end: Int, into segment: inout Segment
  ) -> Outcome {
    var position = offset
    for _ in 0..<Self.maximumDepth {
      guard end - position > 4 else { return .skipped(.linkHeader) }
      let isLast = bytes.u8(position + 2) & 1 != 0
      position += 4
      guard isLast else { continue }
      let first = bytes.u8(position) >> 4
      guard first != 4, first != 6 else { return anyIP(bytes, position, end, into: &segment) }
      guard depth < Self.maximumDepth else { return .skipped(.tooDeep) }
      depth += 1
      defer { depth -= 1 }
      let hasWord = first == 0 && (end - position < 18 || EtherType.carriesIP(bytes.u16(position + 16)))
      return ethernet(bytes, hasWord ? position + 4 : position, end, into: &segment)
    }
    return .skipped(.tooDeep)
  }
}
