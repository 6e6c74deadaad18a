/// A delimited frame without its delimiters and escapes, and the position of each byte on the wire.
package struct UnescapedFrame: Sendable {
  /// Header, body and trailer, in wire order.
  package var bytes: [UInt8]
  /// For each of `bytes`, its offset in the frame on the wire; for an escaped byte, the offset of the escape.
  package var places: [Int]
}

extension ProtocolPlan {
  /// Unescapes `wire`, a whole frame with its delimiters; `nil` if an escape is invalid.
  package func unescaped(_ wire: [UInt8]) -> UnescapedFrame? {
    let framing = pointer.pointee.framing
    var from = 0
    var end = wire.count
    func isEdge(_ byte: UInt8) -> Bool { byte == framing.delimiter || framing.kind == .line && byte == 0x0d }
    while from < end, isEdge(wire[from]) { from += 1 }
    while end > from, isEdge(wire[end - 1]) { end -= 1 }
    var frame = UnescapedFrame(bytes: [], places: [])
    var i = from
    while i < end {
      frame.places.append(i)
      if framing.escapes, wire[i] == framing.escape {
        guard i + 1 < end, let meant = framing.meaning(wire[i + 1]) else { return nil }
        frame.bytes.append(meant)
        i += 2
      } else {
        frame.bytes.append(wire[i])
        i += 1
      }
    }
    return frame
  }

  /// Writes `frame` back over `wire`, from which it was unescaped. False if a byte needs an escape where `wire` has none, or has
  /// one that it does not need: the frame would change its length.
  package func put(_ frame: UnescapedFrame, over wire: inout [UInt8]) -> Bool {
    let framing = pointer.pointee.framing
    for (byte, place) in zip(frame.bytes, frame.places) {
      guard framing.escapes, wire[place] == framing.escape else {
        guard byte != framing.delimiter, !framing.escapes || byte != framing.escape,
          framing.kind != .line || byte != 0x0d
        else { return false }
        wire[place] = byte
        continue
      }
      guard framing.meaning(wire[place + 1]) != byte else { continue }
      let all = 0...UInt8.max
      guard let written = all.first(where: { $0 != framing.delimiter && framing.meaning($0) == byte })
      else { return false }
      wire[place + 1] = written
    }
    return true
  }
}
