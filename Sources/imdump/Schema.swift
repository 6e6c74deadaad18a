import IMCommandLine
import IMPipeline

/// `imdump schema`: the fields of ECS documents.
struct Schema: Subcommand {
  static var about: About {
    About(
      "schema", "The fields of ECS documents, and what Elasticsearch must know of them.",
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
      .flag("--fields", \.fields, "Print a line for each field; so it does without an option."),
      .flag("--json", \.json, "Print one JSON object, to compare or to make other things of."),
      .flag("--json-schema", \.jsonSchema, "Print a JSON Schema of the documents."),
      .value(
        "--templates <folder>", \.templates,
        "Write index and component templates for Elasticsearch into this folder."),
      .flag("--tsds", \.tsds, "With --templates, time series for what live captures measure."),
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
        "diff", "What is different from an older imdump's fields.",
        discussion: "Status 0: nothing, or new fields. 2: a field is gone or has another type.")
    }

    var old = ""

    static var table: [Option<Self>] {
      [
        .value(
          "<old>", \.old, "What 'imdump schema --json' of the older one has printed.", completing: .files)
      ]
    }

    func perform() throws(UsageError) -> ExitStatus { try compareSchema(to: old) }
  }
}
