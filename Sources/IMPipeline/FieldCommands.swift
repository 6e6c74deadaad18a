import IMEngine
import IMFields
import IMProfile
import IMRun
package import IMSystem
import IMYAML

/// Prints the named fields of profiles: `imdump fields`.
package func listFields(_ names: [String]) throws(UsageError) -> ExitStatus {
  let plans: [ProtocolPlan]
  do throws(ProfileError) { plans = try loadProfiles(names) } catch { throw UsageError(message: error.description) }
  var lines = ""
  for plan in plans {
    guard let fields = plan.fields else {
      if !names.isEmpty { lines += "\(plan.name): the profile has no named fields\n" }
      continue
    }
    for (index, field) in fields.fields.enumerated() where field.isShown && !field.messages.isEmpty {
      lines += row(field, fields, index, plan.name)
    }
  }
  return printText(lines)
}

/// The columns of a field: profile and name, type, unit, who may see it, the messages that have it.
private func row(_ field: FieldInfo, _ plan: FieldPlan, _ index: Int, _ profile: String) -> String {
  func column(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(1, width - text.utf8.count))
  }
  let type = field.tables.isEmpty ? field.type.rawValue : "enum"
  let sensitivity = field.sensitivity.map { plan.hides(index) ? "\($0.rawValue) (hidden)" : $0.rawValue } ?? "-"
  let messages = field.messages.contains("*") ? "all" : field.messages.joined(separator: ",")
  return column("\(profile).\(field.name)", 44) + column(type + (field.isRepeated ? "[]" : ""), 10)
    + column(field.unit.isEmpty ? "-" : field.unit, 16) + column(sensitivity, 20) + messages + "\n"
}
