/// A section of the page.
enum PageSection: CaseIterable {
  case verdict, lost, transport, roundTrips, distribution, rates, troubles, heartbeats, lanes, ladders, problems,
    connections
  case method

  /// Its anchor on the page.
  var id: StaticString {
    switch self {
    case .verdict: "verdict"
    case .lost: "lost"
    case .transport: "tcp-time"
    case .roundTrips: "rtt-time"
    case .distribution: "rtt-distribution"
    case .rates: "rates"
    case .troubles: "troubles"
    case .heartbeats: "heartbeats"
    case .lanes: "connections-time"
    case .ladders: "ladders"
    case .problems: "problems"
    case .connections: "connections"
    case .method: "method"
    }
  }

  /// Its heading.
  var title: StaticString {
    switch self {
    case .verdict: "Verdict"
    case .lost: "Lost messages"
    case .transport: "TCP over time"
    case .roundTrips: "Round trips over time"
    case .distribution: "Distribution of round trips"
    case .rates: "Messages by type"
    case .troubles: "Lost and retried"
    case .heartbeats: "Heartbeats"
    case .lanes: "Connections over time"
    case .ladders: "Ladders"
    case .problems: "Problems"
    case .connections: "Connections"
    case .method: "Method"
    }
  }

  /// Begins a section.
  static func begin(_ section: PageSection, _ page: inout Markup) {
    page.raw("<section aria-labelledby=\"")
    page.raw(section.id)
    page.raw("-h\" id=\"")
    page.raw(section.id)
    page.raw("\"><h2 id=\"")
    page.raw(section.id)
    page.raw("-h\">")
    page.raw(section.title)
    page.raw("</h2>\n")
  }

  /// Ends it.
  static func end(_ page: inout Markup) { page.raw("</section>\n") }

  /// What stands where connections could not be read again.
  static let cut = "Reading was interrupted before this could be drawn."

  /// A paragraph.
  static func paragraph(_ text: String, isSoft: Bool = false, _ page: inout Markup) {
    page.raw(isSoft ? "<p class=\"soft\">" : "<p>")
    page.text(text, limit: 4_000)
    page.raw("</p>\n")
  }
}
