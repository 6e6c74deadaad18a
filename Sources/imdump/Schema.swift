import IMCommandLine
import IMPipeline

/// `imdump schema`: the fields of ECS documents.
struct Schema: Subcommand {
  static var about: About {
    About(
      "schema", "The fields of ECS documents, and Elasticsearch templates for them.",
      usage: ["imdump schema [<options>]", "imdump schema diff <old>"])
  }
  static var members: [Member] { [.command(Diff.self)] }

  var fields = false
  var json = false
  var jsonSchema = false
  var templates: String?
  var tsds = false

  static var table: [Option<Self>] {
    [
      .flag("--fields", \.fields, "Print one line per field; the default."),
      .flag("--json", \.json, "Print one JSON object, for 'schema diff' and for scripts."),
      .flag("--json-schema", \.jsonSchema, "Print a JSON Schema of the documents."),
      .value(
        "--templates <folder>", \.templates,
        "Write Elasticsearch index and component templates to this folder."),
      .flag("--tsds", \.tsds, "With --templates, use time series data streams for live captures."),
    ]
  }

  func perform() throws(UsageError) -> ExitStatus {
    guard [fields, json, jsonSchema, templates != nil].count(where: { $0 }) < 2 else {
      throw UsageError(message: "give one of --fields, --json, --json-schema and --templates")
    }
    guard !tsds || templates != nil else { throw UsageError(message: "--tsds is about --templates") }
    if let templates { return writeTemplates(templates, isTimeSeries: tsds) }
    return printSchema(json ? .json : jsonSchema ? .jsonSchema : .table)
  }

  struct Diff: Subcommand {
    static var about: About {
      About(
        "diff", "Compare the fields with those of an older imdump.",
        discussion: "Status 0: no change, or new fields only. 2: a field is gone or has another type.")
    }

    var old = ""

    static var table: [Option<Self>] {
      [
        .value(
          "<old>", \.old, "The output of 'imdump schema --json' of the older one.", completing: .files)
      ]
    }

    func perform() throws(UsageError) -> ExitStatus { try compareSchema(to: old) }
  }
}
