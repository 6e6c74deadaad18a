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
    let (a, b) = (Shares(old), Shares(new))
    var figures = [count("messages", UInt64(old.messages.both.units), UInt64(new.messages.both.units))]
    figures += zip(a.all, b.all).map { share($0.name, $0.share, $1.share) }
    figures.append(count("round_trips", old.roundTrips.count, new.roundTrips.count))
    figures += Catalogue.percentiles.map { name, percent in
      ComparedFigure(
        name: "rtt_\(name)", unit: .milliseconds, old: old.roundTrips.percentile(percent).map { Double($0) / 1_000 },
        new: new.roundTrips.percentile(percent).map { Double($0) / 1_000 },
        differs: Chance.differs(percent, old.roundTrips, from: new.roundTrips))
    }
    figures.append(count("connections", a.connections, b.connections))
    return figures
  }

  /// The names of all figures.
  package static var names: [String] { all(EndpointMetrics(), EndpointMetrics()).map(\.name) }

  private static func count(_ name: String, _ old: UInt64, _ new: UInt64) -> ComparedFigure {
    ComparedFigure(name: name, unit: .count, old: Double(old), new: Double(new), differs: false)
  }

  private typealias Share = (hits: UInt64, of: UInt64)

  private static func share(_ name: String, _ old: Share, _ new: Share) -> ComparedFigure {
    func ratio(_ share: Share) -> Double? { share.of == 0 ? nil : Double(share.hits) / Double(share.of) }
    return ComparedFigure(
      name: name, unit: .ratio, old: ratio(old), new: ratio(new),
      differs: Chance.differs(old.hits, of: old.of, from: new.hits, of: new.of))
  }

  /// Figures that are a part of something, with what they are a part of.
  private struct Shares {
    let all: [(name: String, share: Share)]
    let connections: UInt64

    init(_ metrics: EndpointMetrics) {
      let fates = metrics.messages.both
      let known = UInt64(fates.known)
      let counts = metrics.counts
      let checked = counts[.rightBigEndian] + counts[.rightLittleEndian] + counts[.wrongChecksum]
      let ends = metrics.connections.succeeded + metrics.connections.refused + metrics.connections.timedOut
      let beats = metrics.heartbeats
      all = [
        ("success", (UInt64(fates.acked) + UInt64(fates.ackedAfterRetry), known)),
        ("loss", (UInt64(fates.unanswered) + UInt64(fates.damaged), known)),
        ("retry", (UInt64(fates.ackedAfterRetry), known)),
        ("rejected", (UInt64(fates.rejected), known)),
        ("unknown", (UInt64(fates.unknown), UInt64(fates.units))),
        ("crc_error_ratio", (counts[.wrongChecksum], checked)),
        ("heartbeat_loss", (beats.missed, beats.answered + beats.missed)),
        ("connection_success", (metrics.connections.succeeded, ends)),
        ("retransmission_ratio", (counts[.retransmissions], counts[.packets])),
      ]
      connections = metrics.connections.opened
    }
  }
}
