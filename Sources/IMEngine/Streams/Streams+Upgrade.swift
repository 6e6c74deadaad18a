import IMTLS
import IMWire

/// Connections that begin in the clear and go on in TLS, as after STARTTLS: a ClientHello at the boundary of a frame.
extension Streams {
  /// Whether a ClientHello begins at `position`, on a decoded connection whose records can be read. Then both directions are marked: the
  /// caller keeps the bytes from there on, and decodes none of them.
  @inline(never)
  mutating func upgrades(_ side: FlowSide, _ bytes: borrowing Bytes, _ position: Int, _ end: Int) -> Bool {
    let flow = side.flow
    guard readsTLS, position < end, bytes.u8(position) == 0x16, !needs.contains(.undecoded), !isInGapRegion,
      !side.state.pointee.flags.contains(.carried),
      side.number == Int(flow.pointee.client) || !flow.pointee.clientIsCertain,
      bytes.span.withUnsafeBytes({
        TLSConnection.looksLikeClientHello(UnsafeRawBufferPointer(rebasing: $0[position..<end]))
      })
    else { return false }
    carrierRecord(flow).pointee.upgradingSide = UInt8(truncatingIfNeeded: side.number)
    for side in flow.sides {
      side.state.pointee.flags.subtract([.lost, .passing])
      side.state.pointee.flags.insert(.carried)
    }
    return true
  }
}
