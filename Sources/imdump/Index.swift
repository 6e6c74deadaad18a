import IMCommandLine
import IMIndexing
import IMPipeline
import IMRun
import IMSystem

/// `imdump index`: the messages of captures as a SQLite database.
struct Index: Subcommand {
  static var about: About {
    About(
      "index", "Write messages, sessions, problems and metrics over time to a SQLite database.",
      usage: [
        "imdump index <file> ... -o <store> [<options>] [<expression> ...]",
        "imdump index <file> ... --append <store> [<options>] [<expression> ...]",
      ],
      discussion: """
        The store has every message with its fate, and totals per session, connection, second, ten seconds and minute. It has \
        no packets, and message text only with --payload. Read it with imdump query or any SQLite client; docs/store.md describes \
        the tables.
        """)
  }

  var source = SourceOptions()
  var decode = DecodeOptions()
  var speech = VerbosityOptions()
  var store = StoreChoices()

  static var table: [Option<Self>] {
    [
      .value(
        "-o <store>", \.store.path,
        "The store to write. A store of that name is replaced; any other file is left alone."),
      .custom(
        "--append <store>", "Add the captures to this store, which an earlier imdump index has completed."
      ) { options, word in options.store.addsTo = word },
      .flag("--payload", \.store.keepsPayload, "Also store message text, so that it can be searched."),
      .group(\.source), .group(\.decode), .group(\.speech),
      .list("<file> ...", \.source.operands, captureFiles),
    ]
  }

  func check() throws(ValueError) {
    guard store.path.isEmpty != (store.addsTo == nil) else {
      throw ValueError("name the store to write with -o, or the one to add to with --append")
    }
  }

  func perform() throws(UsageError) -> ExitStatus {
    try runIndex(input: source.files(), decode: decode, report: speech.report, store: store, features: storingFeatures)
  }
}
