import IMCommandLine
import IMDocuments
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
  var form = FormatChoice()
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
    let input = try source.files()
    if form.format == .ecs {
      guard folder == nil else { throw UsageError(message: "--write goes with --format text or json") }
      var decode = DecodeOptions()
      (decode.memory, decode.verifiesChecksums) = (memory, verifiesChecksums)
      return try runDocuments(of: [.connection], input: input, decode: decode, report: speech.report)
    }
    return try runStreams(
      input: input, report: speech.report, isJSON: form.isJSON, folder: folder, memory: memory,
      verifiesChecksums: verifiesChecksums)
  }
}
