extension Catalogue {
  /// Every figure by its scope.
  package static let all: [(scope: String, figures: [MetricInfo])] = [
    ("The run", run.map(\.info)), ("A server, and all connections", servers.map(\.info)),
    ("A protocol", profiles.map(\.info)), ("A type of frames", types.map(\.info)),
    ("The numbers of a counter", sequences.map(\.info)),
    ("A connection", connections.map(\.info)), ("A server's minute", intervals.map(\.info)),
    ("A period", periods.map(\.info)), ("A session", sessions.map(\.info)),
    ("A connection in a list", listed.map(\.info)),
    ("A stream", streams.map(\.info)), ("A direction of a stream", streamSides.map(\.info)),
    ("The capture", captures.map(\.info)), ("What only rules watch", watched.map(\.info)),
  ]
}
