import IMTLS
import IMWire

/// Connections that begin in the clear and go on in TLS, as after STARTTLS: a ClientHello at the boundary of a frame.
extension Streams {
  /// Whether a direction's bytes begin with the hello that begins its connection's TLS: a ClientHello, or a ServerHello if nothing of the client was
  /// captured.
  @inline(never)
  mutating func beginsTLS(_ side: FlowSide, _ bytes: UnsafeRawBufferPointer) -> Bool {
    let flow = side.flow
    if side.number == Int(flow.pointee.client) || !flow.pointee.clientIsCertain,
      TLSConnection.looksLikeClientHello(bytes)
    {
      return true
    }
    let peer = side.peer.state
    return peer.pointee.offset == 0 && peer.pointee.queue == nil && TLSConnection.looksLikeServerHello(bytes)
  }

  /// Whether TLS begins at `position` of a decoded connection whose records can be read. If so, both directions are marked: the caller keeps the
  /// bytes from there on, and decodes none of them.
  @inline(never)
  mutating func upgrades(_ side: FlowSide, _ bytes: borrowing Bytes, _ position: Int, _ end: Int) -> Bool {
    let flow = side.flow
    guard readsTLS, position < end, bytes.u8(position) == 0x16, !needs.contains(.undecoded), !isInGapRegion,
      !side.state.pointee.flags.contains(.carried)
    else { return false }
    let begins = bytes.span.withUnsafeBytes { beginsTLS(side, UnsafeRawBufferPointer(rebasing: $0[position..<end])) }
    guard begins else { return false }
    carrierRecord(flow).pointee.upgradingSide = UInt8(truncatingIfNeeded: side.number)
    for side in flow.sides {
      side.state.pointee.flags.subtract([.lost, .passing])
      side.state.pointee.flags.insert(.carried)
    }
    return true
  }
}
