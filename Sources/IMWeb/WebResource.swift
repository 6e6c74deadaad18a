package import IMOutput

/// What the server of a run gives out. The capture makes each when somebody asks, at most once a second.
package enum WebResource: Int, CaseIterable, Sendable {
  /// The metrics, in one form and in the other.
  case prometheus, openMetrics
  /// The page of a report.
  case page

  /// The metrics in a form.
  init(_ dialect: MetricText.Dialect) { self = dialect == .openMetrics ? .openMetrics : .prometheus }

  /// The form of metrics; `nil` for the page.
  package var dialect: MetricText.Dialect? {
    switch self {
    case .prometheus: .prometheus
    case .openMetrics: .openMetrics
    case .page: nil
    }
  }

  /// It in a set.
  var bit: Int { 1 << rawValue }
}

/// What a server has, and for whom.
package struct WebOffers: Equatable, Sendable {
  /// Whether the page is there, at `/`. The metrics always are, at `/metrics`.
  package var hasPage = false
  /// Whether the address is one of the loopback, so that only those have something who name it so, or by one of `hosts`.
  ///
  /// A page of another site can have its own name looked up as 127.0.0.1, and would be the same origin then (DNS rebinding). It
  /// cannot make the browser say another `Host` than that name.
  var isLocal = false
  /// Further names by which it may be called, in lower case.
  var hosts: Set<[UInt8]> = []

  /// What answers a request, or why nothing does.
  func choose(_ request: HTTPRequest) -> Choice {
    guard !isLocal || Self.isAddress(request.host) || isAllowed(request.host) else { return .refusal(.misdirected) }
    if request.path == Self.metrics { return .resource(WebResource(MetricText.Dialect(accept: request.accept))) }
    guard hasPage, request.path == Self.page else { return .refusal(.notFound) }
    return .resource(.page)
  }

  /// What answers a request.
  enum Choice: Equatable {
    case resource(WebResource)
    case refusal(HTTPStatus)
  }

  private func isAllowed(_ host: [UInt8]) -> Bool {
    hosts.contains(host.prefix { $0 != .colon }.map(\.lowercased))
  }

  /// Whether a `Host` is an address in numbers, or `localhost`, with a port or without.
  private static func isAddress(_ host: [UInt8]) -> Bool {
    if host.isEmpty || host.first == UInt8(ascii: "[") { return true }
    let name = host.prefix { $0 != .colon }
    return name.allSatisfy { $0.isDigit || $0 == UInt8(ascii: ".") } || name.map(\.lowercased) == localhost
  }

  private static let metrics = [UInt8]("/metrics".utf8), page = [UInt8]("/".utf8)
  private static let localhost = [UInt8]("localhost".utf8)
}
