import ArgumentParser
import IMPipeline

/// `imdump completion`: what a shell needs to complete commands and options.
struct Completion: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print a completion script for a shell.",
    discussion: """
      For this shell only:
        source <(imdump completion bash)
        source <(imdump completion zsh)
        imdump completion fish | source

      'make install' puts all three where the shells look for them.
      """)

  @Argument(help: "The shell.") var shell: Shell

  func run() throws {
    let status = printText(Imdump.completionScript(for: shell.kind) + "\n")
    if status != .success { throw ExitCode(status.rawValue) }
  }

  /// The shells that a script can be made for.
  enum Shell: String, ExpressibleByArgument, CaseIterable {
    case bash, zsh, fish

    var kind: CompletionShell {
      switch self {
      case .bash: .bash
      case .zsh: .zsh
      case .fish: .fish
      }
    }
  }
}
