extension PacketParser {
  /// A stack of MPLS labels, four bytes each, and what stands below it (RFC 3032).
  ///
  ///      0          20     23  24      32 bits
  ///     +----------+------+---+-------+
  ///     | label    | class| S | hops  |   S marks the last label
  ///     +----------+------+---+-------+
  ///
  /// Nothing names the payload: IP is told by its version; a first half byte of 0 is the control word of a pseudowire
  /// (RFC 4385), behind which Ethernet follows.
  mutating func mpls(
    _ bytes: borrowing Bytes, _ offset: Int, _ end: Int, into segment: inout Segment
  ) -> Outcome {
    var position = offset
    for _ in 0..<Self.maximumDepth {
      guard end - position > 4 else { return .skipped(.linkHeader) }
      let isLast = bytes.u8(position + 2) & 1 != 0
      position += 4
      guard isLast else { continue }
      guard bytes.u8(position) >> 4 == 0 else { return anyIP(bytes, position, end, into: &segment) }
      guard depth < Self.maximumDepth else { return .skipped(.tooDeep) }
      depth += 1
      defer { depth -= 1 }
      return ethernet(bytes, position + 4, end, into: &segment)
    }
    return .skipped(.tooDeep)
  }
}
