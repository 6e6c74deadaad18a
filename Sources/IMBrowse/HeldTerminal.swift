import CSandbox
import Glibc
import IMTerminal

extension TerminalSession {
  /// Takes the terminal for screens; a crash gives it back as well.
  func hold() {
    imdump_keep_terminal(STDIN_FILENO, TerminalSession.leaving)
    begin()
  }

  /// Gives it back.
  func release() {
    end()
    imdump_keep_terminal(-1, "")
  }
}
