/// How `imdump messages --by` and `imdump stats --by` put messages together.
package enum MessageGrouping: String, CaseIterable, Sendable {
  /// A line for each address of clients.
  case client
  /// A line for each server's address and port.
  case server
  /// A line for each direction.
  case direction
  /// A line for each type, with its profile's name where several profiles decoded something.
  case type
  /// A line for each topic, the field `topic` of a profile.
  case topic
  /// A line for each session.
  case session
  /// A line for each unit or container of this host, live only.
  case owner
  /// A line for each status of answers.
  case status

  /// Its key in JSON.
  var key: StaticString {
    switch self {
    case .client: "client"
    case .server: "server"
    case .direction: "direction"
    case .type: "type"
    case .topic: "topic"
    case .session: "session"
    case .owner: "owner"
    case .status: "status"
    }
  }
}
