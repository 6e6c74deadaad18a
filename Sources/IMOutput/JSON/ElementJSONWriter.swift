package import IMEngine

/// The elements of a frame as a member of its JSON object: `imdump -v --format json`.
///
///     "elements":[{"tag":33,"name":"receive_maximum","len":2,"value":20}]
///
/// `depth` stands there where it is not 0; `value` where values are shown, the tag tells its form, and it is not sensitive: a
/// number, a text, a list of two texts, or bytes in hexadecimal.
package enum ElementJSONWriter {
  /// Adds the elements to the line that was written last.
  package static func amend(
    _ tlvs: Span<TLVRef>, _ body: RawSpan, _ plan: ProtocolPlan, showsValues: Bool, to out: inout ByteWriter
  ) {
    guard tlvs.count > 0 else { return }
    // The brace and the line feed.
    out.truncate(to: out.count - 2)
    out.literal(",\"elements\":[")
    for i in tlvs.indices {
      let tlv = tlvs[i]
      if i > 0 { out.literal(",") }
      out.literal("{\"tag\":")
      out.number(tlv.tag)
      if let name = plan.tagNames[tlv.tag] {
        out.literal(",\"name\":\"")
        out.text(name)
        out.literal("\"")
      }
      out.literal(",\"len\":")
      out.number(tlv.count)
      if tlv.depth > 0 {
        out.literal(",\"depth\":")
        out.number(tlv.depth)
      }
      let end = Int(tlv.offset) + Int(tlv.count)
      if showsValues, !tlv.isList, end <= body.byteCount, !plan.sensitiveTags.contains(tlv.tag) {
        body.withUnsafeBytes { bytes in
          let value = UnsafeRawBufferPointer(rebasing: bytes[Int(tlv.offset)..<end])
          if let known = ElementValue(tlv.tag, value, plan) {
            out.literal(",\"value\":")
            write(known, to: &out)
          }
        }
      }
      out.literal("}")
    }
    out.literal("]}\n")
  }

  private static func write(_ value: ElementValue, to out: inout ByteWriter) {
    switch value {
    case .number(let number): out.number(number)
    case .text(let text): string(text, to: &out)
    case .pair(let key, let text):
      out.literal("[")
      string(key, to: &out)
      out.literal(",")
      string(text, to: &out)
      out.literal("]")
    case .bytes(let bytes):
      out.literal("\"")
      for byte in bytes.prefix(256) { out.hex(UInt64(byte), width: 2) }
      out.literal("\"")
    }
  }

  private static func string(_ text: UnsafeRawBufferPointer, to out: inout ByteWriter) {
    out.jsonString(String(decoding: text.prefix(1_024), as: UTF8.self))
  }
}
