import IMFilter
import IMOutput
import IMRun

/// The fields that a filter over messages may name.
package var messageFieldNames: [String] { FilterSchema.messages.fields.map(\.name) }

/// The named fields of the profiles in use by default.
package var protocolFieldNames: [String] { Array(frameFieldNames.dropFirst(messageFieldNames.count)) }

/// The fields that a filter over frames may name: those of messages, and the named fields of the profiles in use by default.
package var frameFieldNames: [String] {
  guard let plans = try? loadProfiles([]) else { return messageFieldNames }
  return NamedFilterFields(plans: plans, behind: .messages).schema.fields.map(\.name)
}

/// The fields that a filter over connections may name.
package var connectionFieldNames: [String] { FilterSchema.connections.fields.map(\.name) }
