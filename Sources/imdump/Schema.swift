import ArgumentParser
import IMPipeline

/// `imdump schema`: the fields of ECS documents.
struct Schema: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "The fields of ECS documents, and what Elasticsearch must know of them.",
    usage: "imdump schema [<options>]\nimdump schema diff <old>",
    subcommands: [Diff.self])

  @Flag(help: "Print a line for each field; so it does without an option.")
  var fields = false

  @Flag(help: "Print one JSON object, to compare or to make other things of.")
  var json = false

  @Flag(help: "Print a JSON Schema of the documents.")
  var jsonSchema = false

  @Option(
    help: ArgumentHelp("Write index and component templates for Elasticsearch into this folder.", valueName: "folder"))
  var templates: String?

  @Flag(help: "With --templates, time series for what live captures measure.")
  var tsds = false

  func run() throws {
    guard [fields, json, jsonSchema, templates != nil].count(where: { $0 }) < 2 else {
      throw misuse("give one of --fields, --json, --json-schema and --templates")
    }
    guard !tsds || templates != nil else { throw misuse("--tsds is about --templates") }
    let status: ExitStatus =
      if let templates {
        writeTemplates(templates, isTimeSeries: tsds)
      } else {
        printSchema(json ? .json : jsonSchema ? .jsonSchema : .table)
      }
    if status != .success { throw ExitCode(status.rawValue) }
  }

  struct Diff: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "What is different from an older imdump's fields.",
      discussion: "Status 0: nothing, or new fields. 2: a field is gone or has another type.")

    @Argument(help: "What 'imdump schema --json' of the older one has printed.") var old: String

    func run() throws {
      try finish { () throws(UsageError) in try compareSchema(to: old) }
    }
  }
}
