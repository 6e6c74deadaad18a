extension ProtocolPlan {
  /// The bytes of a frame's header as the protocol lays it out, its parts at their places, without delimiters and escapes; none
  /// for a line. `bytes` is what the frame was read from. It is made for outputs, a frame at a time.
  package func headerBytes(_ frame: Frame, in bytes: RawSpan) -> [UInt8] {
    var all: [UInt8] = []
    headerBytes(frame, in: bytes, into: &all)
    return all
  }

  /// Replaces what is in `all`, with room for `more` bytes after it.
  func headerBytes(_ frame: Frame, in bytes: RawSpan, reserving more: Int = 0, into all: inout [UInt8]) {
    let framing = pointer.pointee.framing
    let start = frame.start
    all.removeAll(keepingCapacity: true)
    guard framing.kind != .line, start >= 0, frame.headerCount >= 0, start + frame.headerCount <= bytes.byteCount else {
      return
    }
    if all.capacity < frame.headerCount + more { all.reserveCapacity(frame.headerCount + more) }
    bytes.withUnsafeBytes { all.append(contentsOf: $0[start..<start + frame.headerCount]) }
    if framing.kind == .delimited { all = joined(all, frame, bytes) }
  }

  /// The header `all` of a delimited frame with its parts at their places.
  private func joined(_ all: [UInt8], _ frame: Frame, _ bytes: RawSpan) -> [UInt8] {
    let framing = pointer.pointee.framing
    let start = frame.start
    let least = Int(pointer.pointee.headerCount)
    guard least <= all.count else { return all }
    var header = Array(all[..<least])
    var counts: [(at: Int, count: Int)] = []
    do {
      let loaded = Bytes(bytes)
      for i in 0..<Int(framing.partCount) where framing.parts[i].count > 0 {
        // A field is one load of eight bytes.
        guard start + Int(framing.parts[i].when.offset) + 8 <= bytes.byteCount else { continue }
        if framing.parts[i].when.read(loaded, start) != 0 {
          counts.append((Int(framing.parts[i].at), Int(framing.parts[i].count)))
        }
      }
    }
    var parts = all.suffix(counts.reduce(0) { $0 + $1.count })
    guard all.count - parts.count >= least else { return header }
    var added = 0
    for (at, count) in counts {
      header.insert(contentsOf: parts.prefix(count), at: min(at + added, header.count))
      parts = parts.dropFirst(count)
      added += count
    }
    return header
  }
}
