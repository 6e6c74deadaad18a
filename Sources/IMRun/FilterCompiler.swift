package import IMEngine
package import IMFilter
package import IMOutput
import IMSystem
package import IMWire

/// Compiles filters over frames and messages of some profiles.
package struct FilterCompiler {
  /// The profiles, whose types and named fields a filter may name.
  private let plans: [ProtocolPlan]
  /// When the capture begins, where times of day are of that day.
  private let begin: Timestamp?

  /// Creates a compiler of filters that use the names in `plans`. `begin` is the beginning of the capture, whose day applies to times of day.
  package init(plans: [ProtocolPlan], begin: Timestamp? = nil) { (self.plans, self.begin) = (plans, begin) }

  /// The fields of frames and messages; types have the plans' names.
  var schema: FilterSchema {
    var schema = FilterSchema.messages.naming("type", known: plans.flatMap(\.typeNames))
    (schema.zone, schema.begin) = (.local, begin)
    return schema
  }

  /// The filter, and the named fields of protocols where it names some: few filters do, and they are read for no other.
  package func compile(_ text: String) throws(FilterError) -> (filter: Filter, names: NamedFilterFields?) {
    let plain = schema
    if let filter = try? Filter(text, schema: plain) { return (filter, nil) }
    let names = NamedFilterFields(plans: plans, behind: plain)
    return (try Filter(text, schema: names.schema), names)
  }
}
