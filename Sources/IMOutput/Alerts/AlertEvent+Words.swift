package import IMAlerts
import IMEngine
import IMWire

/// What an alert says to people.
extension AlertEvent {
  /// The server, the client or the owner in words, as far as the scope has them, and the group: `192.0.2.9:8080, client 10.0.0.7`.
  package var subject: String {
    guard let group, let grouping = rule.grouping else { return scope }
    return "\(scope), \(grouping.name) \(Self.printable(group.name))"
  }

  /// A name that a client may have given itself, for a terminal.
  private static func printable(_ name: String) -> String {
    var out = ByteWriter(capacity: 64)
    var name = name
    name.withUTF8 { out.terminal(UnsafeRawBufferPointer($0), limit: 128) }
    return out.text
  }

  private var scope: String {
    if let connection { return "\(connection.client) > \(connection.server)" }
    if let server { return "\(server)" }
    return owner ?? profile ?? "the capture"
  }

  /// What is the matter, in one line: `loss 0.041 > 0.02 for 120 s on 203.0.113.9:8080`.
  package var reason: String {
    let name = rule.metricName(direction)
    switch state {
    case .resolved:
      switch ending {
      case .connection: return "the connection is over: \(subject)"
      case .run: return "the run has ended, with \(name) \(valueText) on \(subject)"
      case .removed: return "the rule is no longer in the file, with \(name) \(valueText) on \(subject)"
      case .changed: return "the rule was changed, with \(name) \(valueText) on \(subject)"
      case nil: break
      }
      guard rule.comparison != .absent else { return "\(name) are back on \(subject)" }
      return "\(name) \(valueText) \(rule.comparison.opposite) \(amount(rule.clear)) on \(subject)"
    case .firing:
      return broken
    case .held where rule.metric.isDoubtful:
      let drops = dropped > 0 ? ", and \(dropped) packets were dropped" : ""
      return
        "\(name) \(valueText) on \(subject), held: the fate of \(unknown) messages is unknown, besides the \(samples) counted\(drops)"
    case .held:
      return "\(broken), held: packets are missing from the capture (\(dropped) drops or gaps)"
    case .released:
      let value = value.map { " \(amount($0))" } ?? ""
      return "\(name)\(value) on \(subject), no longer held"
    }
  }

  private var broken: String {
    let name = rule.metricName(direction)
    let patience = rule.patience / 1_000_000_000
    guard rule.comparison != .absent else {
      return "no \(name) for \((rule.window + rule.patience) / 1_000_000_000) s on \(subject)"
    }
    let lasting = patience > 0 && state == .firing ? " for \(patience) s" : ""
    return
      "\(name) \(valueText) \(rule.comparison.rawValue) \(amount(rule.threshold))\(lasting) on \(subject)"
  }

  private var valueText: String { value.map(amount) ?? "unknown" }

  /// A value with its unit.
  private func amount(_ value: Double) -> String {
    switch rule.metric.unit {
    case .ratio: Self.decimal(value)
    case .milliseconds: Self.decimal(value) + " ms"
    case .count: String(UInt64(max(0, value.rounded())))
    }
  }

  private static func decimal(_ value: Double) -> String {
    var out = ByteWriter(capacity: 32)
    out.decimal(value, 4)
    return out.text
  }
}
