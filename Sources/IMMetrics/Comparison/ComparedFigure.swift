import IMEngine

/// One figure of two captures side by side.
package struct ComparedFigure: Sendable {
  /// What its values are.
  package enum Unit: String, Sendable {
    /// From 0 to 1.
    case ratio
    /// Milliseconds.
    case milliseconds
    /// A whole number. How many there are says how long was captured, and no more: counts have no verdict.
    case count
  }

  /// Its name, as rules have it.
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
  ) -> [ComparedFigure] {
    let (one, other) = (ServerSnapshot(old), ServerSnapshot(new))
    var both = one.roundTrips
    both.add(other.roundTrips)
    let connections = groups.map { ($0.old.snapshots, $0.new.snapshots) }
    return Catalogue.texts(.diff, in: Catalogue.servers).map { figure, text in
      let unit = Unit(figure.info.unit)
      var differs: Bool? = unit == .count ? false : nil
      if unit != .count, let (here, there) = connections {
        differs = Chance.differs(
          observations(of: here, figure, text, both), from: observations(of: there, figure, text, both))
      }
      return ComparedFigure(
        name: text.one, unit: unit, old: number(figure.value(one)), new: number(figure.value(other)), differs: differs)
    }
  }

  /// The names of all figures.
  package static var names: [String] { all(EndpointMetrics(), EndpointMetrics()).map(\.name) }

  /// What groups of connections have of a figure: of a percentile, how many of their round trips are not above that of all round trips
  /// of both captures. Those that are equal to it count half.
  private static func observations(
    of groups: [ServerSnapshot], _ figure: Figure<ServerSnapshot>, _ text: FigureText, _ both: RTTRecorder
  ) -> [Chance.Observation] {
    if case .compared(let percent?) = text.style {
      guard let bound = both.percentile(percent) else { return [] }
      return groups.map { group in
        let (below, equal) = group.roundTrips.counts(at: bound)
        return Chance.Observation(hits: Double(below) + Double(equal) / 2, trials: Double(group.roundTrips.count))
      }
    }
    return groups.compactMap { group in
      guard case .share(let hits, let trials)? = figure.value(group) else { return nil }
      return Chance.Observation(hits: Double(hits), trials: Double(trials))
    }
  }

  private static func number(_ value: FigureValue?) -> Double? {
    switch value {
    case .count(let count)?: Double(count)
    case .microseconds(let time)?: Double(time) / 1_000
    default: value?.ratio
    }
  }
}

extension ComparedFigure.Unit {
  fileprivate init(_ unit: FigureUnit) {
    switch unit {
    case .ratio, .rate: self = .ratio
    case .time, .seconds: self = .milliseconds
    case .count, .bytes, .histogram: self = .count
    }
  }
}
