package import IMTerminal

/// A list that a digit shows, from every screen.
package enum BrowserTab: Int, CaseIterable, Sendable {
  /// Problems by kind and cause.
  case problems
  /// Sessions.
  case sessions
  /// TCP connections.
  case connections
  /// Messages of all sessions.
  case messages
  /// Types and topics of messages.
  case types

  /// The screen that it is.
  package var screen: Browser.Screen {
    switch self {
    case .problems: .problems
    case .sessions: .sessions
    case .connections: .connections
    case .messages: .messages
    case .types: .types
    }
  }

  /// The key that shows it: `1` to `5`.
  package var key: Key { Key(.character(Unicode.Scalar(UInt8(0x31 + rawValue)))) }
  /// The key's label in the help.
  var label: String { "\(rawValue + 1)" }
  /// Its title.
  var title: String {
    switch self {
    case .problems: "Problems"
    case .sessions: "Sessions"
    case .connections: "Connections"
    case .messages: "Messages"
    case .types: "Types and topics"
    }
  }

  /// The key's description in the help.
  var help: String {
    switch self {
    case .problems: "problems by kind and cause, the worst first"
    case .sessions: "sessions, the worst first"
    case .connections: "TCP connections, the worst first"
    case .messages: "messages of all sessions"
    case .types: "types and topics of messages, the worst first"
    }
  }
}
