import IMBrowser
import IMCommandLine
import IMPipeline

/// `imdump browse`: sessions and messages on the terminal.
struct Browse: Subcommand {
  static var about: About {
    About(
      "browse", "Look through sessions and messages on the terminal.",
      usage: [
        "imdump browse <store> [<options>]",
        "imdump browse <file> ... [<options>] [<expression> ...]",
        "imdump browse -i <interface> [<options>] [<expression> ...]",
      ],
      discussion: """
        Shows a store that imdump index has written, or captures, which are decoded into a store of their own while their first \
        messages are on the screen already; it is removed at the end. With -i, messages are shown as they are captured. ? shows \
        the keys.
        """)
  }

  var source = LiveSource()
  var decode = DecodeOptions()
  var speech = SpeechOptions()
  var options = BrowseOptions()

  static var table: [Option<Self>] {
    [
      .flag("--payload", \.options.keepsPayload, "Also show what users write; of a store, what it was made with."),
      .flag("--no-mouse", \.options.hasMouse, is: false, "Leave the mouse to the terminal."),
      .value(
        "-w <file>", \.source.input.writePath,
        "With -i, also write the packets to this file, so that their bytes can be shown and saved."),
      .value(
        "--names <file>", \.options.namesPath,
        "Show names beside sessions, from lines of 'id,name' or of a hosts file."),
      .flag("-N", \.options.resolvesNames, "Look up the names of clients' addresses, which asks the DNS."),
      .flag("-n", \.options.isNumeric, "Do not look up names, whatever -N says; the default."),
      .value("--store <file>", \.options.storePath, "With -i, write messages to this store, and keep it."),
      .value(
        "--graph <style>", \.options.graph,
        "Draw figures over time in braille, block or ascii; what the terminal shows, by default."),
      .group(\.source), .group(\.decode), .group(\.speech),
      .list(
        "<file> ...", \.source.source.operands,
        "A store, or capture files, then an optional capture filter. With -i, just a capture filter."),
    ]
  }

  func perform() throws(UsageError) -> ExitStatus {
    try runBrowse(
      input: source.filesOrInterface(), decode: decode, report: speech.report, isColoured: speech.isColoured,
      options: options)
  }
}

extension GraphStyle: OptionValue {}
