import IMEngine
import IMWire
import IMYAML

/// Acknowledgments, handshakes and receipts.
extension ProfileCompiler {
  mutating func acknowledgment() throws(ProfileError) {
    guard let reader = try root.optional("acknowledgment") else { return }
    try reader.allow("body", "plus")
    if let plus = try reader.optional("plus") {
      draft.plan.ackPlus = UInt64(try plus.number(1...Int(min(draft.plan.counterWrap - 1, 1 << 32))))
    }
    guard let body = try reader.optional("body") else { return }
    try body.allow("length", "offset", "size", "order")
    draft.plan.ackBodyCount = try body.required("length").number(1...256)
    let size = try body.required("size").number(1...8)
    let offset = try body.required("offset").number(0...255)
    guard offset + size <= draft.plan.ackBodyCount else { throw body.error("the number ends after the body") }
    let order = try body.optional("order")?.text() ?? "big"
    draft.plan.ackBody = Field(offset: offset, byteCount: size, littleEndian: order == "little")
  }

  mutating func handshake(_ reader: YAMLReader) throws(ProfileError) {
    try reader.allow("type", "request", "answer", "within")
    let type = try reader.required("type")
    var limits: [Nanoseconds] = []
    for type in type.isScalar ? [type] : try type.elements() {
      let name = try type.text()
      guard let index = typeNames.firstIndex(of: name) else { throw type.error("no type '\(name)'") }
      guard draft.kinds[index].flags.contains(.expectsAck) else {
        throw type.error("a handshake's type must be one that is answered")
      }
      draft.kinds[index].flags.insert(.handshake)
      limits.append(draft.kinds[index].timeout)
    }
    guard let limit = limits.max() else { throw type.error("expected a type or a list of types") }
    for (key, place) in [("request", \Plan.handshakeRequest), ("answer", \.handshakeAnswer)] {
      guard let tag = try reader.optional(key) else { continue }
      guard draft.plan.tlv.shape != .none else { throw tag.error("a tag needs 'tlv'") }
      draft.plan[keyPath: place] = UInt32(try tag.number(0...Int(UInt32.max - 1)))
    }
    guard draft.plan.handshakeAnswer == .max || draft.plan.handshakeRequest != .max else {
      throw reader.error("'answer' needs 'request'")
    }
    draft.plan.handshakeLimit = limit
    if let limit = try reader.optional("within") { draft.plan.handshakeLimit = Nanoseconds(try limit.duration()) }
  }

  mutating func receipts(_ reader: YAMLReader) throws(ProfileError) {
    try reader.allow("type", "tag", "delivered", "size")
    let type = try reader.required("type")
    let name = try type.text()
    guard let index = typeNames.firstIndex(of: name) else { throw type.error("no type '\(name)'") }
    guard draft.kinds[index].flags.isSuperset(of: .expectsAck), !draft.kinds[index].flags.contains(.handshake) else {
      throw type.error("a receipt's type must be one that is answered, and not the handshake's")
    }
    let delivered = try reader.optional("delivered")
    let read = delivered == nil ? try reader.required("tag") : try reader.optional("tag")
    for tag in [read, delivered].compactMap({ $0 }) where draft.plan.tlv.shape == .none {
      throw tag.error("a tag needs 'tlv'")
    }
    draft.kinds[index].flags.insert(.receipt)
    if let tag = read { draft.plan.receiptTag = UInt32(try tag.number(0...Int(UInt32.max - 1))) }
    if let tag = delivered { draft.plan.deliveryTag = UInt32(try tag.number(0...Int(UInt32.max - 1))) }
    if let size = try reader.optional("size") { draft.plan.receiptSize = UInt8(try size.number(1...8)) }
  }
}
