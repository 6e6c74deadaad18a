/// What a connection's protocol travels in beside TCP.
package struct CarrierSet: OptionSet, Sendable, BitwiseCopyable {
  /// One bit for each.
  package let rawValue: UInt8
  /// The carriers whose bits are set in `rawValue`.
  package init(rawValue: UInt8) { self.rawValue = rawValue }
  /// A PROXY header of version 1 in front of the first frame.
  package static let proxy1 = CarrierSet(rawValue: 1)
  /// A PROXY header of version 2.
  package static let proxy2 = CarrierSet(rawValue: 2)
  /// WebSocket frames.
  package static let webSocket = CarrierSet(rawValue: 4)
  /// WebSocket messages that were compressed.
  package static let deflate = CarrierSet(rawValue: 8)
  /// TLS records that were read with the secrets of a key log.
  package static let tls = CarrierSet(rawValue: 16)
  /// A PROXY header of either version.
  package static let proxy: CarrierSet = [.proxy1, .proxy2]

  /// Their names in documents, outermost first.
  package var names: [StaticString] {
    var names: [StaticString] = []
    if contains(.proxy1) { names.append("proxy_v1") }
    if contains(.proxy2) { names.append("proxy_v2") }
    if contains(.tls) { names.append("tls") }
    if contains(.webSocket) { names.append("websocket") }
    if contains(.deflate) { names.append("permessage-deflate") }
    return names
  }
}
