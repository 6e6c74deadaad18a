package import IMMetrics

/// The figures that a page shows first, and those of its verdict, as they are declared.
package struct PageMetrics {
  private let run: RunSnapshot
  private let server: ServerSnapshot

  /// Those of a run, or of the part of one that a page covers.
  package init(_ run: RunSnapshot) {
    self.run = run
    server = ServerSnapshot(run.total)
  }

  /// The tiles; of round trips these percentiles.
  package func tiles(percentiles: [(name: String, percent: Double)]) -> [MetricTile] {
    MetricTile.all(Catalogue.servers, server, percentiles: percentiles) + MetricTile.all(Catalogue.run, run)
  }

  /// Messages that were lost, and those whose fate is known; `nil` without any of these.
  package var loss: (lost: UInt64, known: UInt64)? {
    guard case .share(let lost, let known)? = Catalogue.value("messages.loss", in: Catalogue.servers, of: server) else {
      return nil
    }
    return (lost, known)
  }

  /// Why messages were lost: `2 damaged in transit (checksum)`.
  package var losses: [String] { MetricSentences.parts(.losses, Catalogue.servers, server) }

  /// What else went wrong: `3 messages sent again`; of messages with fates that `isWanted` takes, and without the figures that are
  /// named.
  package func also(without told: [String] = [], isWanted: (String) -> Bool) -> [String] {
    let figures = Catalogue.servers.filter { !told.contains($0.info.id) }
    return MetricSentences.parts(.also, figures, server, isWanted: isWanted)
      + MetricSentences.parts(.also, Catalogue.run, run)
  }

  /// What was not seen: `3 packets cut by the snaplen`.
  package var unseen: [String] { MetricSentences.parts(.unseen, Catalogue.run, run) }
}
