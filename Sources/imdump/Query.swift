import IMCommandLine
import IMIndexing
import IMSystem

/// `imdump query`: SQL over a store.
struct Query: Subcommand {
  static var about: About {
    About(
      "query", "Query a store written by imdump index, in SQL.",
      usage: ["imdump query <store> <sql> ... [<options>]", "imdump query <store> --search <text> [<options>]"],
      discussion: """
        The store is only read, never changed. The views messages and problems use the names of imdump messages --json; \
        docs/store.md describes all tables, and .schema in sqlite3 lists them.

        Examples:
          imdump query chat.db "select type, fate, count(*) from messages group by 1, 2"
          imdump query chat.db "select * from problems order by time_us limit 20"
          imdump query chat.db --search 晚上吃
        """)
  }

  var form = QueryForm.text
  var search: String?
  var seconds = 60
  var store = ""
  var words: [String] = []

  static var table: [Option<Self>] {
    [
      .value("--format <format>", \.form, "Output format."),
      .flag("--json", \.isJSON, "The same as --format json: JSON objects, one per line."),
      .value(
        "--search <text>", \.search, "Messages whose text contains all these words; two Chinese characters are enough."),
      .value("--timeout <seconds>", \.seconds, in: 0...86_400, "End a statement that takes longer; 0 for no limit."),
      .value("<store>", \.store, "The store.", completing: .files),
      .list("<sql> ...", \.words, "One SQL statement; several arguments are joined."),
    ]
  }

  private var isJSON: Bool {
    get { form == .json }
    set { form = newValue ? .json : .text }
  }

  func check() throws(ValueError) {
    guard words.isEmpty == (search != nil) else {
      throw ValueError("expected a store and either a statement in SQL or --search")
    }
  }

  func perform() throws(UsageError) -> ExitStatus {
    if let search { return try runSearch(store, search, form: form, seconds: seconds) }
    return try runQuery(store, words.joined(separator: " "), form: form, seconds: seconds)
  }
}

extension QueryForm: OptionValue {}
