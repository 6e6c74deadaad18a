import IMCommandLine
import IMPipeline

/// `imdump streams`: the TCP streams of a capture, their bytes and their gaps.
struct Streams: Subcommand {
  static var about: About {
    About(
      "streams", "TCP streams: byte ranges, gaps, retransmissions.",
      usage: ["imdump streams <file> ... [<options>] [<expression> ...]"])
  }

  var source = SourceOptions()
  var speech = SpeechOptions()
  var form = FormChoice()
  var folder: String?
  var memory = 256 << 20
  var verifiesChecksums = true

  static var table: [Option<Self>] {
    [
      .flag("-K, --no-checksum", \.verifiesChecksums, is: false, "Do not verify TCP and IP checksums."),
      .custom(
        "--mem <size>", "Memory limit for streams and their bytes, such as 512M or 2G; 256M by default."
      ) { options, word throws(ValueError) in options.memory = try DecodeOptions.memory(word) },
      .value("--write <folder>", \.folder, "Also write each direction's bytes to a file in this folder."),
      .group(\.form), .group(\.source), .group(\.speech),
      .list("<file> ...", \.source.operands, captureFiles),
    ]
  }

  func perform() throws(UsageError) -> ExitStatus {
    try runStreams(
      input: source.files(), report: speech.report, isJSON: form.isJSON, folder: folder, memory: memory,
      verifiesChecksums: verifiesChecksums)
  }
}
