import IMBrowse
import IMBrowser
import IMCommandLine
import IMPipeline
import IMRun
import IMSystem

/// `imdump browse`: sessions and messages on the terminal.
struct Browse: Subcommand {
  static var about: About {
    About(
      "browse", "Browse sessions and messages in the terminal.",
      usage: [
        "imdump browse <store> [<options>]",
        "imdump browse <file> ... [<options>] [<expression> ...]",
        "imdump browse -i <interface> [<options>] [<expression> ...]",
      ],
      discussion: """
        Shows a store written by imdump index, or captures. Captures are decoded into a temporary store in the background; their \
        first messages are shown at once. With -i, messages are shown as they are captured. Press ? for the keys.
        """)
  }

  var source = LiveSource()
  var decode = DecodeOptions()
  var speech = VerbosityOptions()
  var options = BrowseOptions()

  static var table: [Option<Self>] {
    [
      .flag("--payload", \.options.keepsPayload, "Show message text (of a store: if it was indexed with --payload)."),
      .flag("--no-mouse", \.options.hasMouse, is: false, "Do not capture the mouse."),
      .value(
        "-w <file>", \.source.input.writePath,
        "With -i, also write the packets to this file, so that their bytes can be shown and saved."),
      .value(
        "--names <file>", \.options.namesPath,
        "Show names next to sessions, from a file of 'id,name' lines or a hosts file."),
      .flag("-N", \.options.resolvesNames, "Look up the names of clients' addresses in the DNS."),
      .flag("-n", \.options.isNumeric, "Do not look up names, even with -N; the default."),
      .value("--store <file>", \.options.storePath, "With -i, write messages to this store, and keep it."),
      .value(
        "--graph <style>", \.options.graph,
        "Draw metrics over time in braille, block or ascii; by default, what the terminal can show."),
      .group(\.source), .group(\.decode), .group(\.speech),
      .list(
        "<file> ...", \.source.source.operands,
        "A store, or capture files, then an optional capture filter. With -i, just a capture filter."),
    ]
  }

  func perform() throws(UsageError) -> ExitStatus {
    try runBrowse(
      input: source.filesOrInterface(), decode: decode, report: speech.report, isColoured: speech.isColoured,
      options: options, features: storingFeatures)
  }
}

extension GraphStyle: OptionValue {}
