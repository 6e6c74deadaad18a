import IMCommandLine
import IMPipeline
import IMRun

/// Text, JSON or documents: what commands print about messages, connections and figures.
struct FormatChoice: OptionGroup {
  /// The forms that these commands have: telemetry is of a run as a whole.
  enum Choice: String, CaseIterable, OptionValue { case text, json, ecs }

  private var choice = Choice.text

  /// The form of what is printed.
  var format: OutputFormat {
    switch choice {
    case .text: .text
    case .json: .json
    case .ecs: .ecs
    }
  }

  static var table: [Option<Self>] {
    [
      .value("--format <format>", \.choice, "Output format."),
      .flag("--json", \.isJSON, "The same as --format json: JSON objects, one per line."),
    ]
  }

  var isJSON: Bool {
    get { choice == .json }
    set { choice = newValue ? .json : .text }
  }
}
