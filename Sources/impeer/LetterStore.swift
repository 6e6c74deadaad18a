import Glibc
import IMEndpoint
import IMMailbox

/// What a server keeps on disk: everything that a turn of its loop brought is one transaction.
final class LetterStore {
  private let mailbox: SQLiteMailbox
  /// Why nothing more is kept, once that is so; then nothing more is acknowledged either.
  private(set) var problem: MailboxError?

  init(folder: String, sync: MailboxSync) throws(MailboxError) {
    guard mkdir(folder, 0o700) == 0 || errno == EEXIST else {
      throw MailboxError(operation: "make " + folder, reason: String(cString: strerror(errno)))
    }
    mailbox = try SQLiteMailbox(folder: folder, sync: sync)
  }

  /// Gives a core what was kept.
  func restore(_ core: inout ServerCore, _ now: Moment) {
    do throws(MailboxError) { core.restore(try mailbox.load(), at: now) } catch { problem = error }
  }

  /// Keeps what has changed, and lets the core acknowledge it.
  func keep(_ core: inout ServerCore, _ now: Moment) {
    guard problem == nil else { return }
    do throws(MailboxError) { try mailbox.apply(core.takeOperations()) } catch {
      problem = error
      return
    }
    core.stored(at: now)
  }
}
