package import IMFields
package import IMWire

extension ProtocolPlan {
  /// A frame as its named fields are read. `bytes` is what it was read from, `body` its body, on the wire or inflated.
  package func fieldFrame(
    _ frame: Frame, _ info: ConnectionInfo, _ direction: Direction, bytes: RawSpan, body: RawSpan
  ) -> FieldFrame {
    var whole = FieldFrame(bytes: [], body: 0, type: "")
    read(frame, info, direction, bytes: bytes, body: body, into: &whole)
    return whole
  }

  /// The same in the memory of another frame.
  package func read(
    _ frame: Frame, _ info: ConnectionInfo, _ direction: Direction, bytes: RawSpan, body: RawSpan,
    into whole: inout FieldFrame
  ) {
    let index = Int(frame.kind.pointee.index)
    headerBytes(frame, in: bytes, reserving: body.byteCount, into: &whole.bytes)
    whole.body = whole.bytes.count
    body.withUnsafeBytes { whole.bytes.append(contentsOf: $0) }
    whole.type = index < typeNames.count ? typeNames[index] : ""
    whole.isVariant = isVariant(frame)
    whole.isReadable = !frame.flags.contains(.encrypted)
    whole.connection = info.serial
    whole.isBack = direction == .serverToClient
  }
}
