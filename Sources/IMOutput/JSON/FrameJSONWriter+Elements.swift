package import IMEngine

extension FrameJSONWriter {
  /// Elements that one line names; `tlv` counts all of them.
  private static var maximumElements: Int { 1_024 }

  /// Adds a frame's elements to the line that was written last: `elements`, a list of `tag`, `name`, `len`, `depth` (in lists
  /// that lie in others) and, where they are asked for, `value`. A value that is not to be shown is `"hidden":true`.
  package static func amend(
    elements tlvs: Span<TLVRef>, body: RawSpan, _ plan: ProtocolPlan, showsValues: Bool, to out: inout ByteWriter
  ) {
    JSONLines.amend(&out) { lines in
      lines.openList("elements")
      for i in 0..<min(tlvs.count, maximumElements) {
        let tlv = tlvs[i]
        lines.openItem()
        lines.exact("tag", tlv.tag)
        let label = ElementLabel(tlv, in: body, plan)
        if let name = label.name { lines.name("name", name) }
        lines.exact("len", tlv.count)
        if tlv.depth > 0 { lines.exact("depth", tlv.depth) }
        let end = Int(tlv.offset) + Int(tlv.count)
        if showsValues, label.isHidden {
          lines.flag("hidden", true)
        } else if showsValues, !tlv.isList, end <= body.byteCount {
          lines.key("value")
          body.withUnsafeBytes {
            let bytes = UnsafeRawBufferPointer(rebasing: $0[Int(tlv.offset)..<end])
            lines.writer.jsonElement(ElementValue(plan.tagTypes[tlv.tag], bytes), bytes)
          }
        }
        lines.close()
      }
      lines.closeList()
    }
  }
}
