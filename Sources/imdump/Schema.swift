import IMCommandLine
import IMDelivery
import IMPipeline
import IMRun
import IMSystem

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
  var engine = ShipEngine.elasticsearch
  var tsds = false
  var logged = LoggedChoice()

  static var table: [Option<Self>] {
    [
      .flag("--fields", \.fields, "Print one line per field; the default."),
      .flag("--json", \.json, "Print one JSON object, for 'schema diff' and for scripts."),
      .flag("--json-schema", \.jsonSchema, "Print a JSON Schema of the documents."),
      .value(
        "--templates <folder>", \.templates,
        "Write index and component templates to this folder."),
      .value("--for <engine>", \.engine, "With --templates, the target engine."),
      .flag("--tsds", \.tsds, "With --templates, use time series data streams for live captures."),
      .group(\.logged),
    ]
  }

  func perform() throws(UsageError) -> ExitStatus {
    guard [fields, json, jsonSchema, templates != nil].count(where: { $0 }) < 2 else {
      throw UsageError(message: "give one of --fields, --json, --json-schema and --templates")
    }
    guard !tsds || templates != nil else { throw UsageError(message: "--tsds needs --templates") }
    guard !tsds || engine == .elasticsearch else {
      throw UsageError(message: "OpenSearch has no time series data streams: leave --tsds out")
    }
    let fields = try logged.fields()
    if let templates { return writeTemplates(fields, templates, for: engine, isTimeSeries: tsds) }
    return printSchema(fields, json ? .json : jsonSchema ? .jsonSchema : .table)
  }

  struct Diff: Subcommand {
    static var about: About {
      About(
        "diff", "Compare the fields with those of an older imdump.",
        discussion: "Exit status: 2 if a field is gone or has another type, else 0.")
    }

    var old = ""
    var logged = LoggedChoice()

    static var table: [Option<Self>] {
      [
        .group(\.logged),
        .value(
          "<old>", \.old, "Output of 'imdump schema --json' of the older version.", completing: .files),
      ]
    }

    func perform() throws(UsageError) -> ExitStatus { try compareSchema(logged.fields(), to: old) }
  }
}

/// Named fields of profiles that message documents have.
struct LoggedChoice: OptionGroup {
  var profiles: [String] = []
  var names: [String] = []

  static var table: [Option<Self>] {
    [
      .list(
        "--profile <name>", \.profiles,
        "Include the fields that this profile logs: the name of a built-in one or a YAML file. Repeatable.",
        completing: .wordsAndFiles(builtInProfiles)),
      .list(
        "--log-field <name>", \.names, "Include this named field, as a run with this option writes it. Repeatable.",
        completing: .words(protocolFieldNames)),
    ]
  }

  /// The fields of documents with these.
  func fields() throws(UsageError) -> SchemaFields { try SchemaFields(profiles: profiles, logged: names) }
}
