import Glibc
import IMDescriptors
import IMOutput
import IMSystem

/// A copy of this program in a process of its own, for what a capture gives up the right to do: to run programs and to open
/// connections. Messages pass through a socket between it and the run. It ends after the run has ended.
enum HelperProcess {
  /// The descriptor of the socket in the helper.
  static let descriptor: Int32 = 3

  /// Starts a helper with one word as its command line, before the run drops privileges. The helper has a session of its own, so that signals from
  /// the terminal reach only the run.
  /// - Returns: the run's end of the socket, which never blocks.
  static func start(_ word: String, purpose: String) throws(UsageError) -> Int32 {
    var ends: [Int32] = [-1, -1]
    guard socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue) | closeOnExec, 0, &ends) == 0 else {
      throw UsageError(message: "\(purpose): \(systemText(errno))")
    }
    defer { close(ends[1]) }
    let result = spawn(word, ends[1])
    guard result == 0 else {
      close(ends[0])
      throw UsageError(message: "\(purpose): start the process: \(systemText(result))")
    }
    _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
    return ends[0]
  }

  /// Whether this process is one that was started so with `word`: then its socket is there.
  static func isStarted(_ words: [String], with word: String) -> Bool {
    guard words == [word] else { return false }
    var kind: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    guard getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &kind, &size) == 0, kind == Int32(SOCK_SEQPACKET.rawValue)
    else { return false }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    return true
  }

  private static var closeOnExec: Int32 { 0o2_000_000 }

  private static func spawn(_ word: String, _ socket: Int32) -> Int32 {
    var actions = posix_spawn_file_actions_t()
    var attributes = posix_spawnattr_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawnattr_init(&attributes)
    defer {
      posix_spawn_file_actions_destroy(&actions)
      posix_spawnattr_destroy(&attributes)
    }
    posix_spawn_file_actions_adddup2(&actions, socket, descriptor)
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
    var all = sigset_t(), none = sigset_t()
    sigfillset(&all)
    sigemptyset(&none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setsigmask(&attributes, &none)
    // POSIX_SPAWN_SETSID, SETSIGDEF and SETSIGMASK.
    posix_spawnattr_setflags(&attributes, 0x80 | 0x04 | 0x08)
    var pid: pid_t = 0
    return Child.withStrings([programName, word]) {
      posix_spawn(&pid, "/proc/self/exe", &actions, &attributes, $0, environ)
    }
  }
}
