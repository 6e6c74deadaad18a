import IMCommandLine

/// `impeer completion`.
struct Completion: Command {
  static var about: About {
    About(
      "completion", "Print a completion script for a shell.",
      usage: ["impeer completion <shell>"],
      discussion: """
        For this shell only:
          source <(impeer completion bash)
          source <(impeer completion zsh)
          impeer completion fish | source

        'make install' installs all three where the shells find them.
        """)
  }

  var shell = Shell.bash

  static var table: [Option<Self>] { [.value("<shell>", \.shell, "The shell.")] }

  func run() -> Int32 {
    say(shell.completions(of: CommandTree(.group(Impeer.self))))
    return 0
  }
}
