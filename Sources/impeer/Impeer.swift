import Glibc
import IMCommandLine
import IMDelivery
import IMSystem

/// The command: the other end of the wire.
@main
enum Impeer: CommandGroup {
  static var about: About {
    About(
      "impeer", "Act as the other end of an IM connection: server, client or load generator.",
      discussion: """
        Examples:
          impeer serve --port 8080                 a server that forwards between users
          impeer chat --name ann --to bob          talk to bob through it
          impeer load --connections 10 --rate 20   messages, and the fate of each
          impeer status 8080                       the state of that server
          impeer script storm.yml                  a scenario with its expectations

        The manual: impeer(1).
        """,
      version: "impeer \(imdumpVersion)")
  }

  static var members: [Member] {
    [
      .command(Serve.self), .command(Chat.self), .command(Load.self), .command(Script.self), .command(Status.self),
      .command(Completion.self),
    ]
  }

  static func main() {
    let words = Array(CommandLine.arguments.dropFirst())
    if deliverAlerts(words) { return }
    switch read(words, as: .group(Impeer.self)) {
    case .run(let command): exit(command.run())
    case .help(let text): say(text)
    case .version(let text): say(text + "\n")
    case .refusal(let refusal):
      logError(refusal.text)
      exit(Complaint.Status.usage.rawValue)
    }
  }
}
