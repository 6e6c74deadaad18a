import IMCommandLine
import IMPipeline
import IMRun
import IMSystem

/// `imdump doctor`: what this machine has of what a capture needs.
struct Doctor: Subcommand {
  static var about: About {
    About(
      "doctor", "Check this machine for what imdump needs, and suggest fixes.",
      usage: ["imdump doctor [-i <interface>] [-B <KiB>] [--json]"],
      discussion: """
        Opens the interface as a capture would, then closes it. Checks the sandbox, owners of connections, memory, the locale \
        and, in a terminal, the width of characters. Exits with the status a failing capture would have, or 0.
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
