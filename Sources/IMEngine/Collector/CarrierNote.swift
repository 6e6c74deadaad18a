package import IMWire

/// What the first bytes of a client's stream say of carriers, for whoever looks at streams and does not decode them.
package struct CarrierNote: Equatable, Sendable {
  /// The carriers that the bytes show.
  package private(set) var carriers: CarrierSet = []
  /// The client, as a PROXY header names it; `nil` where none does.
  package private(set) var client: Endpoint?
  /// Bytes of a PROXY header in front of everything else.
  package private(set) var headerCount = 0
  /// Whether a PROXY header stands there that cannot be believed: where it ends is not known.
  package private(set) var hasDamagedHeader = false

  /// What is looked at: four times the longest header of either kind.
  private static var longest: Int { 4 * max(ProxyHeader.longest, HTTPUpgrade.longest) }

  /// Reads the beginning of a client's stream; only its first 64 KiB are looked at.
  package init(_ content: [StreamContent]) {
    // "PROXY", its second version, or a request or an answer of HTTP: nothing else is copied.
    guard let first = content.first?.first, [0x50, 0x0d, 0x47, 0x48].contains(first) else { return }
    var bytes: [UInt8] = []
    for piece in content where bytes.count < Self.longest { bytes += piece.prefix(Self.longest - bytes.count) }
    let end = bytes.count
    // Loads of eight bytes near the end stay inside.
    bytes += [UInt8](repeating: 0, count: RawBuffer.slack)
    let view = Bytes(bytes.span.bytes)
    var start = 0
    switch ProxyHeader.read(view, 0, end) {
    case .header(let header, let count):
      carriers.insert(header.version == 1 ? .proxy1 : .proxy2)
      client = header.source
      start = count
      headerCount = count
    case .damaged: hasDamagedHeader = true
    case .none, .needMore: break
    }
    if start < end, case .upgrade = HTTPUpgrade.read(view, start, end) { carriers.insert(.webSocket) }
  }
}
