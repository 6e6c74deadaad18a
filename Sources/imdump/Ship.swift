import IMCommandLine
import IMDelivery
import IMPipeline
import IMShip
import IMSystem

/// `imdump ship`: log files to Elasticsearch or OpenSearch.
struct Ship: Subcommand {
  static var about: About {
    About(
      "ship", "Send the files of --log-dir to Elasticsearch, OpenSearch or an OpenTelemetry receiver.",
      usage: ["imdump ship <folder or file> ... --to <url> [<options>]"],
      discussion: """
        The log files are the queue: the folder .ship next to them records how far each was sent. If the engine is unreachable \
        or busy, ship waits. Documents that the engine rejects permanently go to .ship/refused.ndjson. A document that is sent \
        twice is stored once.

        Secrets come from files, from IMDUMP_SHIP_API_KEY, IMDUMP_SHIP_USER and IMDUMP_SHIP_PASSWORD, or from the systemd \
        credentials imdump-ship-api-key and imdump-ship-password.

        Exit status: 74 if documents were refused or lost, 77 if the engine denies access, else 0.
        """)
  }

  var options = ShipOptions()

  static var table: [Option<Self>] {
    [
      .value(
        "--to <url>", \.options.address,
        "The engine's address, such as https://es.example:9200; for files of --log-format otlp a receiver's, otlp+https://..."
      ),
      .value(
        "--headers <file>", \.options.headersFile,
        "Send the headers in this file with each request, one per line; only its user may read it."),
      .value("--engine <engine>", \.options.engine, "The kind of engine, instead of detecting it."),
      .flag("--follow", \.options.follows, "Keep sending growing and new files until SIGTERM."),
      .flag("--setup", \.options.setsUp, "First install templates, the ingest pipeline and retention; safe to repeat."),
      .flag(
        "--tsds", \.options.isTimeSeries, "With --setup, use time series data streams for metrics (Elasticsearch)."),
      .custom("--retention <age>", "With --setup, have the engine keep documents for this long, such as 30d.") {
        options, word throws(ValueError) in
        _ = try age(word)
        options.options.retention = word
      },
      .value(
        "--dashboards <url>", \.options.dashboards,
        "With --setup, import data views and dashboards into the Kibana or OpenSearch Dashboards at this address."),
      .flag("--dry-run", \.options.isDry, "Print what would be installed and sent, but send nothing."),
      .custom(
        "--delete-shipped <age>",
        "Delete files that have been sent and have not changed for this long, such as 2h or 7d."
      ) {
        options, word throws(ValueError) in options.options.deletesAfter = try age(word)
      },
      .value(
        "--state <folder>", \.options.stateFolder, "Keep the state in this folder instead of .ship next to the files."),
      .value(
        "--metrics-file <file>", \.options.metricsFile, "Write counters and lag to this file as OpenMetrics text."),
      .value("--api-key-file <file>", \.options.apiKeyFile, "Read an API key from the first line of this file."),
      .value("--user <name>", \.options.user, "Log in as this user.", completing: WordCompletion.none),
      .value(
        "--password-file <file>", \.options.passwordFile, "Read the user's password from the first line of this file."),
      .value(
        "--ca <file>", \.options.access.authorities,
        "Verify the engine's certificate with the authorities in this file."),
      .value("--client-cert <file>", \.options.access.certificate, "Present this client certificate to the engine."),
      .value(
        "--client-key <file>", \.options.access.key, "The private key of --client-cert, if it is in another file."),
      .flag("--insecure", \.options.access.isInsecure, "Do not verify the engine's certificate."),
      .flag("-q", \.options.isQuiet, "Report only problems."),
      .list("<folder or file> ...", \.options.paths, "Folders of log files, and log files.", completing: .files),
    ]
  }

  func check() throws(ValueError) {
    guard !options.address.isEmpty else { throw ValueError("missing --to: the engine's address") }
    guard !options.paths.isEmpty else { throw ValueError("name a --log-dir folder or log files") }
    guard options.retention == nil && !options.isTimeSeries && options.dashboards == nil || options.setsUp else {
      throw ValueError("--retention, --tsds and --dashboards need --setup")
    }
  }

  func perform() throws(UsageError) -> ExitStatus { try runShip(options) }
}

extension ShipEngine: OptionValue {}

/// Seconds of an age such as `90s`, `30m`, `2h` or `30d`.
private func age(_ word: String) throws(ValueError) -> Int64 {
  let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400]
  guard let unit = word.last.flatMap({ units[$0] }), let number = Int64(word.dropLast()),
    (1...1_000_000).contains(number),
    word.utf8.dropLast().allSatisfy({ (0x30...0x39).contains($0) })
  else { throw ValueError("expected an age such as 90s, 30m, 2h or 30d") }
  return number * unit
}
