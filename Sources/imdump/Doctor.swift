import IMCommandLine
import IMPipeline

/// `imdump doctor`: what this machine has of what a capture needs.
struct Doctor: Subcommand {
  static var about: About {
    About(
      "doctor", "Check what imdump needs on this machine, and say what to do about what is missing.",
      usage: ["imdump doctor [-i <interface>] [-B <KiB>] [--json]"],
      discussion: """
        Opens the interface as a capture would, and closes it; checks the sandbox, owners of connections, memory, the locale, \
        and, in a terminal, how wide it shows characters. Exit status: that of a capture that fails to start, else 0.
        """)
  }

  var input = InputOptions()
  var isJSON = false

  static var table: [Option<Self>] {
    [
      .value("-i <interface>", \.input.interface, "The interface to try; by default the one that imdump would choose."),
      .value("-B <KiB>", \.input.bufferKiB, "The size of the kernel's capture buffer to try, in KiB."),
      .flag("--json", \.isJSON, "JSON objects, one per check."),
    ]
  }

  func perform() throws(UsageError) -> ExitStatus { runDoctor(input, isJSON: isJSON) }
}
