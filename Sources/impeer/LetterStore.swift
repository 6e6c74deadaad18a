import Glibc
import IMEndpoint
import IMMailbox

/// What a server keeps on disk: everything that a turn of its loop brought is one transaction.
final class LetterStore {
  private let mailbox: SQLiteMailbox
  private let bodies: FileBodies
  private let syncs: Bool
  /// Why nothing more is kept, once that is so; then nothing more is acknowledged either.
  private(set) var problem: MailboxError?

  init(folder: String, sync: MailboxSync) throws(MailboxError) {
    guard mkdir(folder, 0o700) == 0 || errno == EEXIST else {
      throw MailboxError(operation: "make " + folder, reason: String(cString: strerror(errno)))
    }
    mailbox = try SQLiteMailbox(folder: folder, sync: sync)
    syncs = sync == .full
    do throws(StoreError) {
      bodies = try FileBodies(folder: folder + "/bodies", keepsRecords: true)
    } catch {
      throw MailboxError(operation: error.operation, reason: error.reason)
    }
  }

  /// Gives a core what was kept.
  func restore(_ core: inout ServerCore, _ now: Instant) {
    core.bodies = bodies
    do throws(MailboxError) { core.restore(try mailbox.load(), at: now) } catch {
      problem = error
      return
    }
    // What a process that was killed had not got to.
    bodies.removeAll(but: core.usedBodies)
  }

  /// Keeps what has changed, and lets the core acknowledge it.
  func keep(_ core: inout ServerCore, _ now: Instant) {
    guard problem == nil else { return }
    do throws(MailboxError) {
      let operations = core.takeOperations()
      // A letter is kept when its body is.
      for case .put(let letter) in operations {
        guard syncs, let body = letter.content?.body, !bodies.sync(body) else { continue }
        throw MailboxError(operation: "write " + bodies.path(of: body), reason: String(cString: strerror(errno)))
      }
      try mailbox.apply(operations)
    } catch {
      problem = error
      return
    }
    core.stored(at: now)
  }
}
