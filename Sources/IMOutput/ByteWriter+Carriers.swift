package import IMEngine

extension ByteWriter {
  /// Appends what a connection travels in as members of a JSON object: `,"via":"10.0.0.5:3456","carrier":["proxy_v2"]`; nothing
  /// for TCP alone. Without `hasNames` it leaves out who passed it on.
  package mutating func carriers(_ info: ConnectionInfo, hasNames: Bool = true) {
    guard !info.carriers.isEmpty else { return }
    if hasNames, info.peer != info.client {
      literal(",\"via\":\"")
      endpoint(info.peer)
      literal("\"")
    }
    literal(",\"carrier\":")
    names(info.carriers)
  }

  /// Appends the names of carriers as a JSON array.
  package mutating func names(_ carriers: CarrierSet) {
    literal("[")
    for (i, name) in carriers.names.enumerated() {
      literal(i > 0 ? ",\"" : "\"")
      literal(name)
      literal("\"")
    }
    literal("]")
  }
}
