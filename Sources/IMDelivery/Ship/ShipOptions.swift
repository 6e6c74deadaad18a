package import IMShip

/// Engines that documents are shipped to.
package enum ShipEngine: String, CaseIterable, Sendable {
  /// Elasticsearch.
  case elasticsearch
  /// OpenSearch.
  case opensearch
}

/// What `imdump ship` was asked for.
package struct ShipOptions: Sendable {
  /// Folders of log files, and log files.
  package var paths: [String] = []
  /// The engine's address.
  package var address = ""
  /// What is sent there: documents by `_bulk`, or OpenTelemetry's requests.
  package private(set) var form = LogForm.ecs
  /// A file with further headers of each request.
  package var headersFile: String?
  /// The kind of engine, where it was named.
  package var engine: ShipEngine?
  /// Whether it goes on with growing and new files.
  package var follows = false
  /// Whether templates, pipeline and retention are put first.
  package var setsUp = false
  /// Whether templates make time series streams.
  package var isTimeSeries = false
  /// How long the engine keeps documents, such as `30d`; `nil` for its own rule.
  package var retention: String?
  /// The address of Kibana or OpenSearch Dashboards; `nil` for none.
  package var dashboards: String?
  /// Whether it only prints what would be put and sent.
  package var isDry = false
  /// Seconds after which a file that is sent and grows no more is removed; `nil` for never.
  package var deletesAfter: Int64?
  /// The folder of the state; `nil` for `.ship` in the folder of the files.
  package var stateFolder: String?
  /// The file that counters are written to.
  package var metricsFile: String?
  /// The name of a user whose password is in `passwordFile`.
  package var user: String?
  /// Files with a password and an API key.
  package var passwordFile: String?, apiKeyFile: String?
  /// What a connection needs, without the secrets.
  package var access = CurlRequest.Access()
  /// Whether nothing but problems is reported.
  package var isQuiet = false
  /// The socket to the run whose files are shipped: shipping ends after that run. `nil` for `imdump ship` by itself.
  var runSocket: Int32?
  /// Whether progress is shown on a terminal.
  package var showsProgress = true

  /// Nothing.
  package init() {}

  /// What ships the files of a run in `folder`.
  init(_ shipping: ShippingOptions, folder: String) {
    (paths, address) = ([folder], shipping.address)
    (headersFile, deletesAfter) = (shipping.headersFile, shipping.deletesAfter)
    (follows, showsProgress) = (true, false)
    readScheme()
  }

  /// Takes `otlp+` from the front of the address, which says that OpenTelemetry's requests are sent there.
  package mutating func readScheme() {
    guard address.hasPrefix("otlp+") else { return }
    address.removeFirst("otlp+".count)
    form = .otlp
  }
}
