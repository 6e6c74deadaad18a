import IMCommandLine
import IMPipeline

/// Text, JSON or documents: what commands print about messages, connections and figures.
struct FormatChoice: OptionGroup {
  var format = OutputFormat.text

  static var table: [Option<Self>] {
    [
      .value("--format <format>", \.format, "Output format."),
      .flag("--json", \.isJSON, "The same as --format json: JSON objects, one per line."),
    ]
  }

  var isJSON: Bool {
    get { format == .json }
    set { format = newValue ? .json : .text }
  }
}
