import IMEngine
import IMFields

/// What a profile's YAML has become: all that a plan is made of.
struct CompiledProfile {
  var name: String
  var version: String
  var ports: [UInt16]
  var typeNames: [String]
  var tagNames: [UInt32: String]
  var sensitiveTags: Set<UInt32>
  var tagTypes: [UInt32: ValueType]
  var checksumName: String?
  var draft: ProtocolPlan.Draft
  /// The same of the protocol's variant, where it has one.
  var variant: ProtocolPlan.Draft?
  /// The value of the profile's variable that means it.
  var variantValue: UInt64?
  /// The named fields, where the page has some.
  var fields: FieldPlan?

  /// The plan, with its tables.
  var plan: ProtocolPlan {
    let plan = ProtocolPlan(
      name: name, version: version, ports: ports, typeNames: typeNames, tagNames: tagNames,
      sensitiveTags: sensitiveTags, tagTypes: tagTypes, checksumName: checksumName, draft: draft, variant: variant)
    if let fields { plan.name { fields } }
    return plan
  }
}
