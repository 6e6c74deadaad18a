import IMCommandLine
import IMPipeline
import IMShip

/// `imdump ship`: log files to Elasticsearch or OpenSearch.
struct Ship: Subcommand {
  static var about: About {
    About(
      "ship", "Send the files of --log-dir to Elasticsearch, OpenSearch or a receiver of OpenTelemetry.",
      usage: ["imdump ship <folder or file> ... --to <url> [<options>]"],
      discussion: """
        The log files are the queue: how far each was sent is kept in the folder .ship beside them. While the engine is away or \
        busy, ship waits; documents that it refuses for good go to .ship/refused.ndjson. A document that is sent twice is \
        stored once.

        Secrets come from files, from IMDUMP_SHIP_API_KEY, IMDUMP_SHIP_USER and IMDUMP_SHIP_PASSWORD, or from the systemd \
        credentials imdump-ship-api-key and imdump-ship-password.

        Exit status: 74 if documents were refused or lost, 77 if the engine does not let this user in, else 0.
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
      .value("--engine <engine>", \.options.engine, "The kind of engine, instead of asking it."),
      .flag("--follow", \.options.follows, "Go on with growing and new files until SIGTERM."),
      .flag("--setup", \.options.setsUp, "First put templates, the ingest pipeline and retention; may be repeated."),
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
      .flag("--dry-run", \.options.isDry, "Print what would be put and sent, and send nothing."),
      .custom("--delete-shipped <age>", "Remove files that are sent and unchanged for this long, such as 2h or 7d.") {
        options, word throws(ValueError) in options.options.deletesAfter = try age(word)
      },
      .value(
        "--state <folder>", \.options.stateFolder, "Keep the state in this folder instead of .ship beside the files."),
      .value(
        "--metrics-file <file>", \.options.metricsFile, "Write counters and lag to this file as OpenMetrics text."),
      .value("--api-key-file <file>", \.options.apiKeyFile, "Read an API key from the first line of this file."),
      .value("--user <name>", \.options.user, "Log in as this user.", completing: WordCompletion.none),
      .value(
        "--password-file <file>", \.options.passwordFile, "Read the user's password from the first line of this file."),
      .value(
        "--ca <file>", \.options.access.authorities,
        "Verify the engine's certificate with the authorities in this file."),
      .value("--client-cert <file>", \.options.access.certificate, "Show the engine this client certificate."),
      .value("--client-key <file>", \.options.access.key, "The key of --client-cert, where it is in another file."),
      .flag("--insecure", \.options.access.isInsecure, "Do not verify the engine's certificate."),
      .flag("-q", \.options.isQuiet, "Report nothing but problems."),
      .list("<folder or file> ...", \.options.paths, "Folders of log files, and log files.", completing: .files),
    ]
  }

  func check() throws(ValueError) {
    guard !options.address.isEmpty else { throw ValueError("--to is needed: the engine's address") }
    guard !options.paths.isEmpty else { throw ValueError("name a folder of --log-dir, or log files") }
    guard options.retention == nil && !options.isTimeSeries && options.dashboards == nil || options.setsUp else {
      throw ValueError("--retention, --tsds and --dashboards are about --setup")
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
  else { throw ValueError("an age such as 90s, 30m, 2h or 30d is needed") }
  return number * unit
}
