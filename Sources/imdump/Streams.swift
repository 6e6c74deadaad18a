import IMCommandLine
import IMPipeline

/// `imdump streams`: the TCP streams of a capture, their bytes and their gaps.
struct Streams: Subcommand {
  static var about: About {
    About(
      "streams", "TCP streams: ranges, gaps and what the segments were.",
      usage: ["imdump streams <file> ... [<options>] [<expression> ...]"])
  }

  var source = SourceOptions()
  var speech = SpeechOptions()
  var isJSON = false
  var folder: String?
  var memory = 256 << 20
  var verifiesChecksums = true

  static var table: [Option<Self>] {
    [
      .group(\.source), .group(\.speech),
      .flag("-K, --no-checksum", \.verifiesChecksums, is: false, "Do not verify TCP and IP checksums."),
      .custom(
        "--mem <size>", "The most memory for streams and their bytes, such as 512M or 2G; 256M by default."
      ) { options, word throws(ValueError) in options.memory = try DecodeOptions.memory(word) },
      .flag("--json", \.isJSON, "Print one JSON object a line."),
      .value("--write <folder>", \.folder, "Also write each direction's bytes to files in this folder."),
      .list("<file> ...", \.source.operands, captureFiles),
    ]
  }

  func perform() throws(UsageError) -> ExitStatus {
    try runStreams(
      input: source.files(), report: speech.report, isJSON: isJSON, folder: folder, memory: memory,
      verifiesChecksums: verifiesChecksums)
  }
}
