import IMEngine
package import IMMetrics

/// A family of metrics: what a monitoring system sees under one name. They are made of the figures that have one.
package struct MetricFamily: Sendable {
  /// What kind of figures it has.
  package typealias Kind = MetricName.Kind

  /// The name, without what a kind adds to it.
  package let name: String
  /// What kind of figures.
  package let kind: Kind
  /// The unit that the name ends in; empty for counts and facts.
  package let unit: String
  /// One sentence without a full stop.
  package let help: String
  /// The names of the labels, in the order in which samples have them.
  package let labels: [String]
  /// Whether only a live capture has it.
  package let isLive: Bool

  /// The family of `name`, which `figure` belongs to; its samples have the labels of `scope` first.
  init(_ name: MetricName, _ figure: MetricInfo, scope: [String]) {
    self.name = name.family
    kind = name.kind
    help = name.help ?? figure.help
    isLive = name.isLive
    labels =
      scope + figure.dimensions.map(\.name) + (name.label.map { [$0.name] } ?? [])
      + (name.kind == .info ? ["version"] : [])
    switch figure.unit {
    case .bytes: unit = "bytes"
    case .time, .seconds, .histogram: unit = "seconds"
    case .count, .ratio, .rate: unit = ""
    }
  }

  private init(_ name: String, _ labels: [String], _ help: String) {
    self.name = name
    kind = .counter
    unit = ""
    self.help = help
    self.labels = labels
    isLive = false
  }

  /// What was refused, by statuses that only the traffic has.
  static let rejections = MetricFamily(
    "imdump_refusals", MetricsWriter.serverLabels + ["type", "status", "status_name"],
    "Rejected exchanges of every kind, by type and by the status of the answer")

  /// Every family that there can be, in the order in which they are written.
  package static let all: [MetricFamily] =
    MetricGroups.run.families + MetricGroups.types.families + MetricGroups.servers.families + [rejections]
}

/// The figures of one scope by their families, in the order in which the first of each is declared.
struct MetricGroups<Snapshot>: Sendable {
  /// A figure and the values of its labels.
  struct Sample: Sendable {
    let figure: Metric<Snapshot>, leaf: MetricInfo.Leaf
    /// The labels of dimensions, and the one that tells figures of a family apart.
    let labels: String
  }

  /// Each family with its figures.
  private(set) var groups: [(family: MetricFamily, samples: [Sample])] = []

  var families: [MetricFamily] { groups.map(\.family) }

  init(_ figures: [Metric<Snapshot>], scope: [String]) {
    for figure in figures {
      guard let name = figure.info.metric else { continue }
      let place = figure.info.dimensions.map { "{\($0.name)}" }.joined(separator: ".")
      let samples = figure.info.leaves(place).map { leaf in
        let own = zip(figure.info.dimensions, leaf.path).map { MetricText.label($0.0.name, $0.1) }
        let last = name.label.map { [MetricText.label($0.name, $0.value)] } ?? []
        return Sample(figure: figure, leaf: leaf, labels: (own + last).joined(separator: ","))
      }
      if let known = groups.firstIndex(where: { $0.family.name == name.family }) {
        groups[known].samples += samples
      } else {
        groups.append((MetricFamily(name, figure.info, scope: scope), samples))
      }
    }
  }
}

extension MetricGroups where Snapshot == RunSnapshot {
  static let run = MetricGroups(Catalogue.run, scope: [])
}

extension MetricGroups where Snapshot == KindTotals {
  static let types = MetricGroups(Catalogue.types, scope: ["profile", "type"])
}

extension MetricGroups where Snapshot == ServerSnapshot {
  static let servers = MetricGroups(Catalogue.servers, scope: MetricsWriter.serverLabels)
}
