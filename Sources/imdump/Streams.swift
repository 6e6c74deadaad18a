import ArgumentParser
import IMPipeline

/// `imdump streams`: the TCP streams of a capture, their bytes and their gaps.
struct Streams: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "TCP streams: ranges, gaps and what the segments were.",
    usage: "imdump streams <file> ... [<options>]")

  @OptionGroup var source: SourceOptions
  @OptionGroup var speech: SpeechOptions

  @Flag(name: [.customShort("K"), .customLong("no-checksum")], help: "Do not verify TCP and IP checksums.")
  var noChecksum = false

  @Option(
    help: ArgumentHelp(
      "The most memory for streams and their bytes, such as 512M or 2G; 256M by default.", valueName: "size"),
    transform: DecodingOptions.memory)
  var mem: Int = 256 << 20

  @Flag(help: "Print one JSON object a line.")
  var json = false

  @Option(help: ArgumentHelp("Also write each direction's bytes to files in this folder.", valueName: "folder"))
  var write: String?

  @Argument(
    help: ArgumentHelp(
      "Capture files; - is standard input, and so is none where that is no terminal.", valueName: "file"))
  var files: [String] = []

  func run() throws {
    let input = try source.input(files: files)
    try finish { () throws(UsageError) in
      try runStreams(input: input, report: speech.report, isJSON: json, folder: write, memory: mem, verifiesChecksums: !noChecksum)
    }
  }
}
