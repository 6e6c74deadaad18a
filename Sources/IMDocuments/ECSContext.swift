/// The kinds of documents; each goes to a data stream of its own.
package enum ECSDataset: Int, CaseIterable, Sendable {
  case message, connection, weird, alert, summary, capture, comparison

  /// `imdump.message` and so on: `event.dataset`, and a part of the file's name.
  package var name: String { "imdump.\(self)" }
  /// The type of the data stream.
  var streamType: String {
    switch self {
    case .message, .connection, .weird, .alert: "logs"
    case .summary, .capture, .comparison: "metrics"
    }
  }
  /// `event.kind` of its documents.
  var eventKind: String {
    switch self {
    case .message, .connection, .weird: "event"
    case .alert: "alert"
    case .summary, .capture, .comparison: "metric"
    }
  }
}

/// What all documents of a run say of where they come from.
package struct ECSContext: Sendable {
  /// Whether packets came from an interface or from a file.
  package enum Mode: String, Sendable {
    case live, offline
  }

  /// The run's name.
  package var run: RunIdentity
  /// The sensor's name: the host's, or `--sensor`.
  package var sensor: String
  /// Live or offline.
  package var mode: Mode
  /// The interface, when there is one and its name is known.
  package var interface: String?
  /// The version of imdump, or of what else writes documents.
  package var version: String
  /// What writes them, as `observer.product` and `event.provider` have it.
  package var product: String
  /// `data_stream.namespace`. Characters that Elasticsearch refuses there become `_`.
  package var namespace: String

  /// A context of its parts.
  package init(
    run: RunIdentity, sensor: String, mode: Mode, interface: String? = nil, version: String,
    product: String = "imdump", namespace: String = "default"
  ) {
    self.product = product
    self.run = run
    self.sensor = sensor
    self.mode = mode
    self.interface = interface
    self.version = version
    let allowed = namespace.lowercased().utf8.prefix(100).map { byte -> UInt8 in
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_") ? byte : UInt8(ascii: "_")
    }
    self.namespace = allowed.isEmpty ? "default" : String(decoding: allowed, as: UTF8.self)
  }
}
