package import IMEngine
package import IMFilter
import IMWire

/// The line of an issue as a `-Y` filter looks at it: it has the fields of its connection and its time, and where bytes are
/// missing or were passed over the flag `gap`. It is no message, so it has no value for anything else.
package struct IssueFilterRecord: FilterRecord {
  let issue: Issue
  let info: ConnectionInfo
  let plan: ProtocolPlan

  /// A record of one issue on a connection that `plan` decodes.
  package init(issue: Issue, info: ConnectionInfo, plan: ProtocolPlan) {
    self.issue = issue
    self.info = info
    self.plan = plan
  }

  /// The value of a field, the `index`th where it has several; `nil` where it has none.
  package func value(of field: Int, at index: Int) -> FilterValue? {
    guard let field = MessageField(rawValue: field) else { return nil }
    if let value = info.value(of: field, issue.direction, at: index) { return value }
    guard index == 0 else { return nil }
    switch field {
    case .ts: return .time(issue.timestamp)
    case .gap: return .flag(issue.kind == .gap || issue.kind == .frameCut || issue.kind == .resynchronised)
    default: return nil
    }
  }

  /// Whether `test` takes one of the field's texts.
  package func anyText(of field: Int, path: FilterPath, where test: (RawSpan) -> Bool) -> Bool {
    MessageField(rawValue: field) == .profile ? lend(plan.name, test) : false
  }
}
