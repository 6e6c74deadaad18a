import IMCommandLine
import IMPipeline
import IMSystem

/// `imdump completion`: what a shell needs to complete commands and options.
struct Completion: Subcommand {
  static var about: About {
    About(
      "completion", "Print a completion script for a shell.",
      discussion: """
        For this shell only:
          source <(imdump completion bash)
          source <(imdump completion zsh)
          imdump completion fish | source

        'make install' installs all three where the shells find them.
        """)
  }

  var shell = Shell.bash

  static var table: [Option<Self>] { [.value("<shell>", \.shell, "The shell.")] }

  func perform() throws(UsageError) -> ExitStatus {
    printText(shell.completions(of: CommandTree(.group(Imdump.self))))
  }
}
