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
  /// Whether the two differ by more than chance explains.
  package let differs: Bool

  /// A figure of its parts.
  package init(name: String, unit: Unit, old: Double?, new: Double?, differs: Bool) {
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

  /// The figures that are compared, of what two captures came to as a whole or at one server.
  package static func all(_ old: EndpointMetrics, _ new: EndpointMetrics) -> [ComparedFigure] {
    let (one, other) = (ServerSnapshot(old), ServerSnapshot(new))
    return Catalogue.texts(.diff, in: Catalogue.servers).map { figure, text in
      let (a, b) = (figure.value(one), figure.value(other))
      return ComparedFigure(
        name: text.one, unit: Unit(figure.info.unit), old: number(a), new: number(b),
        differs: differs(a, b, text, old, new))
    }
  }

  /// The names of all figures.
  package static var names: [String] { all(EndpointMetrics(), EndpointMetrics()).map(\.name) }

  private static func number(_ value: FigureValue?) -> Double? {
    switch value {
    case .count(let count)?: Double(count)
    case .microseconds(let time)?: Double(time) / 1_000
    default: value?.ratio
    }
  }

  private static func differs(
    _ a: FigureValue?, _ b: FigureValue?, _ text: FigureText, _ old: EndpointMetrics, _ new: EndpointMetrics
  ) -> Bool {
    if case .compared(let percent?) = text.style {
      return Chance.differs(percent, old.roundTrips, from: new.roundTrips)
    }
    guard case .share(let hits, let trials)? = a, case .share(let otherHits, let otherTrials)? = b else { return false }
    return Chance.differs(hits, of: trials, from: otherHits, of: otherTrials)
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
