package import IMFields
package import IMWire

extension ProtocolPlan {
  /// A frame as its named fields are read. `bytes` is what it was read from, `body` its body, on the wire or inflated.
  package func fieldFrame(
    _ frame: Frame, _ info: ConnectionInfo, _ direction: Direction, bytes: RawSpan, body: RawSpan
  ) -> FieldFrame {
    let index = Int(frame.kind.pointee.index)
    var all = headerBytes(frame, in: bytes, reserving: body.byteCount)
    let headerCount = all.count
    body.withUnsafeBytes { all.append(contentsOf: $0) }
    var whole = FieldFrame(bytes: all, body: headerCount, type: index < typeNames.count ? typeNames[index] : "")
    whole.isVariant = isVariant(frame)
    whole.isReadable = !frame.flags.contains(.encrypted)
    whole.connection = info.serial
    whole.isBack = direction == .serverToClient
    return whole
  }
}
