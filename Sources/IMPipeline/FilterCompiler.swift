import IMEngine
import IMFilter
import IMOutput
import IMSystem
import IMWire

/// Compiles filters over frames and messages of some profiles.
struct FilterCompiler {
  /// The profiles, whose types and named fields a filter may name.
  let plans: [ProtocolPlan]
  /// When the capture begins, where times of day are of that day.
  var begin: Timestamp?

  /// The fields of frames and messages; types have the plans' names.
  var schema: FilterSchema {
    var schema = FilterSchema.messages.naming("type", known: plans.flatMap(\.typeNames))
    (schema.zone, schema.begin) = (.local, begin)
    return schema
  }

  /// The filter, and the named fields of protocols where it names some: few filters do, and they are read for no other.
  func compile(_ text: String) throws(FilterError) -> (filter: Filter, names: NamedFilterFields?) {
    let plain = schema
    if let filter = try? Filter(text, schema: plain) { return (filter, nil) }
    let names = NamedFilterFields(plans: plans, behind: plain)
    return (try Filter(text, schema: names.schema), names)
  }
}
