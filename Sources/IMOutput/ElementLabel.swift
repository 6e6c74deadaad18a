import IMEngine
import IMFields

/// What an element is called, and whether its value is not to be shown.
struct ElementLabel {
  var name: String?
  var isHidden: Bool

  /// Of an element of `body`: a tag that a vendor defined means what that vendor's means, and nothing where the profile knows
  /// the tag of the protocol's own alone.
  init(_ tlv: TLVRef, in body: RawSpan, _ plan: ProtocolPlan) {
    let vendor = plan.vendor(of: tlv, in: body)
    if vendor != 0, let fields = plan.fields {
      if let field = fields.element(vendor: vendor, tag: UInt64(tlv.tag)) {
        (name, isHidden) = (fields.fields[field].name, fields.hides(field))
        return
      }
      if fields.element(vendor: 0, tag: UInt64(tlv.tag)) != nil {
        (name, isHidden) = (nil, false)
        return
      }
    }
    (name, isHidden) = (plan.tagNames[tlv.tag], plan.sensitiveTags.contains(tlv.tag))
  }

  /// The named field of an element's tag; `nil` if the profile names none.
  static func field(of tlv: TLVRef, in body: RawSpan, _ plan: ProtocolPlan, _ names: FieldPlan) -> Int? {
    names.element(vendor: plan.vendor(of: tlv, in: body), tag: UInt64(tlv.tag))
  }
}
