import IMMetrics

/// One field of the documents, as it is declared: templates, the JSON Schema and the manual's table are made of these.
///
/// A field has one type for ever. What means something else gets another name.
package struct ECSField: Equatable, Sendable {
  /// The type of a field in Elasticsearch; the raw value is its name there.
  package enum Kind: String, CaseIterable, Sendable {
    /// Text that is compared as a whole.
    case keyword
    /// A sentence that is searched.
    case sentence = "match_only_text"
    /// A whole number with 63 bits.
    case long
    /// A number.
    case double
    /// A ratio, for which 24 bits do.
    case float
    /// A time in UTC, to the microsecond; Elasticsearch sorts by its milliseconds.
    case date
    /// An address of version 4 or 6.
    case ip
    /// `true` or `false`.
    case boolean
    /// An object of names that nobody lists, each with a short text.
    case flattened
    /// An object of texts by name.
    case object
    /// A place on Earth: `lat` and `lon` in degrees.
    case point = "geo_point"
    /// `values`, ascending, and how many samples each has in `counts`.
    case histogram
  }

  /// What a unit is called in a mapping's `meta`.
  package enum Unit: String, Sendable {
    case nanoseconds = "nanos"
    case milliseconds = "ms"
    case seconds = "s"
    case bytes = "byte"
  }

  /// What a time series is to know of a number.
  package enum Metric: String, Sendable {
    /// It only grows, until the run ends.
    case counter
    /// A figure of this period, or of this moment.
    case gauge
  }

  /// The dotted name.
  package var name: String
  /// The type.
  package var kind: Kind
  /// What a number counts in; `nil` for one that counts things.
  package var unit: Unit?
  /// What it says, in words.
  package var meaning: String
  /// The documents that can have it.
  package var datasets: [ECSDataset]
  /// The texts that it can have, where they are known.
  package var values: [String] = []
  /// Whether it is a list.
  package var isArray = false
  /// Whether a time series is named by it.
  package var isDimension = false
  /// What a time series is to know of it.
  package var metric: Metric?

  /// Whether the name is one of the Elastic Common Schema, and not one of imdump's own.
  package var isCommon: Bool { !name.hasPrefix("imdump.") }

  /// A field of the documents of `datasets`.
  init(
    _ name: String, _ kind: Kind, _ datasets: [ECSDataset], _ meaning: String, values: [String] = [],
    isArray: Bool = false, isDimension: Bool = false
  ) {
    self.name = name
    self.kind = kind
    self.meaning = meaning
    self.datasets = datasets
    self.values = values
    self.isArray = isArray
    self.isDimension = isDimension
  }

  /// A number with a unit, in the documents of `datasets`.
  init(_ name: String, _ kind: Kind, _ unit: Unit, _ datasets: [ECSDataset], _ meaning: String) {
    self.init(name, kind, datasets, meaning)
    self.unit = unit
  }

  /// The fields as counters or gauges of a time series, as far as they are numbers.
  static func measured(_ metric: Metric, _ fields: [ECSField]) -> [ECSField] {
    fields.map { field in
      var field = field
      switch field.kind {
      case .long, .double, .float: field.metric = metric
      case .keyword, .sentence, .date, .ip, .boolean, .flattened, .object, .point, .histogram: break
      }
      return field
    }
  }
}

extension [ECSDataset] {
  /// Documents that are about one connection or a message of it.
  static var ofConnections: [ECSDataset] { [.message, .connection, .weird] }
  /// Documents of a capture, which may be live: all but those that compare two files.
  static var ofCaptures: [ECSDataset] { ECSDataset.allCases.filter { $0 != .comparison } }
  /// Documents that are about a server.
  static var ofServers: [ECSDataset] { [.message, .connection, .weird, .alert, .summary, .comparison] }
}

/// Every field that documents have.
package enum ECSFields {
  /// The version of what is declared here, as `imdump.schema` tells it.
  package static let version = "2"
  /// The version of the Elastic Common Schema that documents keep to.
  package static let commonVersion = "9.4.0"

  /// All fields by name.
  package static let all: [ECSField] =
    (common + ends + own + message + connection + weird + alert + summary + peer + capture + comparison)
    .sorted { $0.name < $1.name }

  /// All fields, and the attributes that only OpenTelemetry's records have, by name: one list declares every name.
  package static let listed: [ECSField] = (all + telemetry).sorted { $0.name < $1.name }

  /// The fields that documents of a dataset can have.
  package static func of(_ dataset: ECSDataset) -> [ECSField] { all.filter { $0.datasets.contains(dataset) } }

  /// The fields of figures, at the places below `prefix` that `places` gives.
  static func figures(
    _ figures: [MetricInfo], below prefix: String, of dataset: ECSDataset, at places: (MetricInfo) -> [String]
  ) -> [ECSField] {
    figures.flatMap { figure in
      places(figure).flatMap { place in
        figure.leaves(place).map { leaf in
          let name = ([prefix] + leaf.path).joined(separator: ".")
          let help = figure.help(leaf.first, leaf.second)
          switch figure.unit {
          case .count: return ECSField(name, .long, [dataset], help)
          case .bytes: return ECSField(name, .long, .bytes, [dataset], help)
          // A field keeps the type that it had first.
          case .ratio, .rate:
            return ECSField(name, name.hasSuffix(".connection_success") ? .double : .float, [dataset], help)
          case .time: return ECSField(name, .double, name.hasSuffix("_s") ? .seconds : .milliseconds, [dataset], help)
          case .seconds: return ECSField(name, .long, .seconds, [dataset], help)
          case .histogram: return ECSField(name, .histogram, .milliseconds, [dataset], help)
          }
        }
      }
    }
  }
}
