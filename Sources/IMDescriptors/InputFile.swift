import CSandbox
import Glibc
import Synchronization

/// Files that are read, whatever is in them: all are opened here.
///
/// A run that drops privileges opens what it will read before it does so, and reads it by descriptors from then on. What is more than
/// `heldCount` files comes from a process that kept the rights (`CSandbox/Broker.h`), one at a time.
package enum InputFile {
  private struct State {
    var expected: [String] = []
    /// Descriptors, or negative error numbers.
    var held: [String: Int32] = [:]
  }

  /// Files that are held open, at most: a quarter of what the process may have open, as each is open once more while it is read.
  private static let heldCount: Int = {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 16 }
    return Int(min(limit.rlim_cur / 4, 256))
  }()
  private static let state = Mutex(State())

  /// Files that this process will read, by the names that it will open them by.
  package static func expect(_ paths: [String]) {
    state.withLock { state in
      var known = Set(state.expected)
      for path in paths where path != "-" && known.insert(path).inserted { state.expected.append(path) }
    }
  }

  /// Opens the first files that are expected. Gives those that are too many to be held.
  package static func hold() -> [String] {
    state.withLock { state in
      for path in state.expected.prefix(heldCount) where state.held[path] == nil {
        state.held[path] = imdump_open_input(path)
      }
      return Array(state.expected.dropFirst(heldCount))
    }
  }

  /// Opens a file for reading. A pipe is not waited for; several descriptors of a file may share one offset.
  ///
  /// Returns a descriptor that the caller closes, or the error's number, negative.
  package static func open(_ path: String) -> Int32 {
    guard let held = state.withLock({ $0.held[path] }) else { return imdump_open_input(path) }
    guard held >= 0 else { return held }
    let descriptor = fcntl(held, F_DUPFD_CLOEXEC, 0)
    return descriptor >= 0 ? descriptor : -errno
  }

  /// Whether `path` is something that can be read only once, such as a pipe. Neither opens it nor waits for it.
  package static func isPipe(_ path: String) -> Bool {
    var status = stat()
    let isKnown: Bool
    if let held = state.withLock({ $0.held[path] }) {
      isKnown = held >= 0 && fstat(held, &status) == 0
    } else {
      isKnown = stat(path, &status) == 0
    }
    return isKnown && status.st_mode & S_IFMT != S_IFREG
  }
}
