import IMEngine

/// One figure of two captures side by side.
package struct ComparedMetric: Sendable {
  /// What its values are.
  package enum Unit: String, Sendable {
    /// From 0 to 1.
    case ratio
    /// Milliseconds.
    case milliseconds
    /// A whole number. How many there are says how long was captured, and no more: counts have no verdict.
    case count
  }

  /// Its name, as rules have it; of one direction's, with that behind it: `rtt_p99[c2s]`.
  package let name: String
  /// What its values are.
  package let unit: Unit
  /// Its value in the old and in the new capture; `nil` where it is not known.
  package let old: Double?, new: Double?
  /// Whether the two differ by more than chance explains; `nil` where there are too few connections to tell. Counts never do.
  package let differs: Bool?

  /// A figure of its parts.
  package init(name: String, unit: Unit, old: Double?, new: Double?, differs: Bool?) {
    self.name = name
    self.unit = unit
    self.old = old
    self.new = new
    self.differs = differs
  }

  /// Its name without a direction: `rtt_p99`.
  package var baseName: Substring { name.prefix { $0 != "[" } }
  /// The difference; `nil` where one of the two is not known.
  package var change: Double? { old.flatMap { old in new.map { $0 - old } } }
  /// The difference as a part of the old value; `nil` where that is 0 or one is not known.
  package var relativeChange: Double? {
    change.flatMap { change in old.flatMap { $0 == 0 ? nil : change / abs($0) } }
  }

  /// The figures that are compared, of two captures as a whole or at one server; `groups` are the connections of both,
  /// without which nothing is judged.
  package static func all(
    _ old: EndpointMetrics, _ new: EndpointMetrics, _ groups: (old: ConnectionGroups, new: ConnectionGroups)? = nil
  ) -> [ComparedMetric] {
    let (one, other) = (ServerSnapshot(old), ServerSnapshot(new))
    let both = [0, 1].map { way in
      var trips = old.roundTripsByDirection[way]
      trips.add(new.roundTripsByDirection[way])
      return trips
    }
    let connections = groups.map { ($0.old.snapshots, $0.new.snapshots) }
    return Catalogue.texts(.diff, in: Catalogue.servers).flatMap { figure, text in
      guard case .compared(let percent, let isByDirection) = text.style else { return [ComparedMetric]() }
      return (isByDirection ? [0, 1] : [nil] as [Int?]).map { way in
        let unit = Unit(figure.info.unit)
        func value(_ server: ServerSnapshot) -> Double? {
          number(way.map { figure.value(server, at: $0) } ?? figure.value(server))
        }
        var differs: Bool? = unit == .count ? false : nil
        if unit != .count, let (here, there) = connections {
          func observed(_ groups: [ServerSnapshot]) -> [Chance.Observation] {
            if let percent, let way {
              return observations(of: groups, way, below: both[way].percentile(percent))
            }
            return observations(of: groups, figure)
          }
          differs = Chance.differs(observed(here), from: observed(there))
        }
        return ComparedMetric(
          name: text.one + (way.map { suffixes[$0] } ?? ""), unit: unit, old: value(one), new: value(other),
          differs: differs)
      }
    }
  }

  /// What stands behind the name of a figure of one direction.
  private static let suffixes = ["[c2s]", "[s2c]"]

  /// The names of all figures, without directions.
  package static var names: [String] {
    Catalogue.texts(.diff, in: Catalogue.servers).map(\.text.one)
  }

  /// How many of each group's round trips of direction `way` are not above `bound`, in microseconds. Those that are equal to it count half.
  private static func observations(of groups: [ServerSnapshot], _ way: Int, below bound: Int64?) -> [Chance.Observation]
  {
    guard let bound else { return [] }
    return groups.map { group in
      let trips = group.metrics.roundTripsByDirection[way]
      let (below, equal) = trips.counts(at: bound)
      return Chance.Observation(hits: Double(below) + Double(equal) / 2, trials: Double(trips.count))
    }
  }

  /// The shares that groups of connections have of a figure.
  private static func observations(
    of groups: [ServerSnapshot], _ figure: Metric<ServerSnapshot>
  ) -> [Chance.Observation] {
    return groups.compactMap { group in
      guard case .share(let hits, let trials)? = figure.value(group) else { return nil }
      return Chance.Observation(hits: Double(hits), trials: Double(trials))
    }
  }

  private static func number(_ value: MetricValue?) -> Double? {
    switch value {
    case .count(let count)?: Double(count)
    case .microseconds(let time)?: Double(time) / 1_000
    default: value?.ratio
    }
  }
}

extension ComparedMetric.Unit {
  fileprivate init(_ unit: MetricUnit) {
    switch unit {
    case .ratio, .rate: self = .ratio
    case .time, .seconds: self = .milliseconds
    case .count, .bytes, .histogram: self = .count
    }
  }
}
