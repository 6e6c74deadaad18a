package import IMEngine

extension FrameJSONWriter {
  /// Elements that one line names; `tlv` counts all of them.
  private static var maximumElements: Int { 1_024 }

  /// Adds a frame's elements to the line that was written last: `elements`, a list of `tag`, `name`, `len`, `depth` (in lists
  /// that lie in others) and, where they are asked for, `value`. A value that is not to be shown is `"hidden":true`.
  package static func amend(
    elements tlvs: Span<TLVRef>, body: RawSpan, _ plan: ProtocolPlan, showsValues: Bool, to out: inout ByteWriter
  ) {
    // The brace and the line feed.
    out.truncate(to: out.count - 2)
    out.literal(",\"elements\":[")
    for i in 0..<min(tlvs.count, maximumElements) {
      let tlv = tlvs[i]
      out.literal(i > 0 ? ",{\"tag\":" : "{\"tag\":")
      out.number(tlv.tag)
      let label = ElementLabel(tlv, in: body, plan)
      if let name = label.name {
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
      if showsValues, label.isHidden {
        out.literal(",\"hidden\":true")
      } else if showsValues, !tlv.isList, end <= body.byteCount {
        out.literal(",\"value\":")
        body.withUnsafeBytes {
          let bytes = UnsafeRawBufferPointer(rebasing: $0[Int(tlv.offset)..<end])
          out.jsonElement(ElementValue(plan.tagTypes[tlv.tag], bytes), bytes)
        }
      }
      out.literal("}")
    }
    out.literal("]}\n")
  }
}
