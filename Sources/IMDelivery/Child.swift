import Glibc

/// A program that was started in a process group of its own, and what goes in and comes out.
///
/// It never blocks its owner: standard input is written as it is taken, output is `/dev/null` or a short answer, and of its errors the first
/// bytes may be kept. Whatever is left of its process group when it ends, ends with it.
struct Child: ~Copyable {
  /// How it ended.
  enum Ending: Equatable {
    case exited(Int32)
    case signalled(Int32)
    /// Its time had run out.
    case timedOut
  }

  /// Seconds that a program has, and those between being asked to end and being ended.
  static let patience = 10.0
  static let grace = 1.0
  /// Bytes of a short answer.
  static let shortAnswer = 64

  private let pid: pid_t
  private var deadline: Double
  private var input: [UInt8]
  private var written = 0
  private var inputEnd: Int32
  private var outputEnd: Int32
  private var errorEnd: Int32
  private var isAsked = false, isKilled = false
  /// Bytes of its answer that are kept.
  private let maximumAnswer: Int
  /// What it has written, as far as it is kept.
  private(set) var answer: [UInt8] = []
  /// Bytes of its errors that are kept; 0 where they go to `/dev/null`.
  private let keptErrors: Int
  /// What it has written to standard error, as far as it is kept.
  private(set) var errors: [UInt8] = []

  /// Starts a program with `input` on its standard input. `wantsAnswer` keeps the first `maximumAnswer` bytes of its output; it
  /// finds the open file `file` at `fileDescriptor`, and has `patience` seconds. The first `keptErrors` bytes of its standard error are kept. Throws the system's error number.
  init(
    _ words: [String], environment: [String], input: [UInt8], wantsAnswer: Bool, maximumAnswer: Int = Self.shortAnswer,
    keptErrors: Int = 0, file: Int32? = nil, fileDescriptor: Int32 = 3, patience: Double = Self.patience, now: Double
  ) throws(Failure) {
    guard let program = words.first else { throw Failure(errno: ENOENT) }
    let nonBlocking: Int32 = 0o4_000
    var inward: [Int32] = [-1, -1], outward: [Int32] = [-1, -1], beside: [Int32] = [-1, -1]
    if pipe(&inward) != 0 || wantsAnswer && pipe(&outward) != 0 || keptErrors > 0 && pipe(&beside) != 0 {
      let number = errno
      for end in inward + outward where end >= 0 { close(end) }
      throw Failure(errno: number)
    }
    for end in inward + outward + beside where end >= 0 { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    var actions = posix_spawn_file_actions_t()
    var attributes = posix_spawnattr_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawnattr_init(&attributes)
    posix_spawn_file_actions_adddup2(&actions, inward[0], STDIN_FILENO)
    if wantsAnswer {
      posix_spawn_file_actions_adddup2(&actions, outward[1], STDOUT_FILENO)
    } else {
      posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
    }
    if keptErrors > 0 {
      posix_spawn_file_actions_adddup2(&actions, beside[1], STDERR_FILENO)
    } else {
      posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
    }
    if let file { posix_spawn_file_actions_adddup2(&actions, file, fileDescriptor) }
    var all = sigset_t()
    sigfillset(&all)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setpgroup(&attributes, 0)
    // POSIX_SPAWN_SETPGROUP and SETSIGDEF.
    posix_spawnattr_setflags(&attributes, 0x02 | 0x04)
    var pid: pid_t = 0
    let result = Self.withStrings(words) { words in
      Self.withStrings(environment) { posix_spawn(&pid, program, &actions, &attributes, words, $0) }
    }
    posix_spawn_file_actions_destroy(&actions)
    posix_spawnattr_destroy(&attributes)
    close(inward[0])
    if wantsAnswer { close(outward[1]) }
    if keptErrors > 0 { close(beside[1]) }
    guard result == 0 else {
      for end in [inward[1], outward[0], beside[0]] where end >= 0 { close(end) }
      throw Failure(errno: result)
    }
    self.pid = pid
    deadline = now + patience
    self.maximumAnswer = maximumAnswer
    self.input = input
    inputEnd = inward[1]
    outputEnd = outward[0]
    errorEnd = beside[0]
    self.keptErrors = keptErrors
    _ = fcntl(inputEnd, F_SETFL, nonBlocking)
    if outputEnd >= 0 { _ = fcntl(outputEnd, F_SETFL, nonBlocking) }
    if errorEnd >= 0 { _ = fcntl(errorEnd, F_SETFL, nonBlocking) }
  }

  deinit {
    if inputEnd >= 0 { close(inputEnd) }
    if outputEnd >= 0 { close(outputEnd) }
    if errorEnd >= 0 { close(errorEnd) }
  }

  /// Why it could not be started.
  struct Failure: Error, Equatable {
    var errno: Int32
  }

  /// Has its time be over at `now`, if it is not before.
  mutating func hurry(now: Double) { deadline = min(deadline, now) }

  /// Does what can be done now without waiting; how it ended, once it has.
  mutating func tend(now: Double) -> Ending? {
    feed()
    drain()
    var info = siginfo_t()
    let isOver = waitid(P_PID, id_t(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_signo != 0
    if isOver {
      // Its number is its own until it is waited for, and so is its group's.
      kill(-pid, SIGKILL)
      var status: Int32 = 0
      while waitpid(pid, &status, 0) < 0, errno == EINTR {}
      drain()
      if isAsked { return .timedOut }
      return status & 0x7f == 0 ? .exited(status >> 8 & 0xff) : .signalled(status & 0x7f)
    }
    if now >= deadline + Self.grace, !isKilled {
      isKilled = true
      kill(-pid, SIGKILL)
    } else if now >= deadline, !isAsked {
      isAsked = true
      kill(-pid, SIGTERM)
    }
    return nil
  }

  private mutating func feed() {
    guard inputEnd >= 0 else { return }
    while written < input.count {
      let count = input[written...].withUnsafeBytes { write(inputEnd, $0.baseAddress, $0.count) }
      if count > 0 { written += count } else if errno == EAGAIN { return } else if errno != EINTR { break }
    }
    // All is written, or it has closed its end, as it may.
    close(inputEnd)
    inputEnd = -1
  }

  /// Reads its output and its errors as far as they are there, so that it never blocks on them.
  private mutating func drain() {
    let isShort = maximumAnswer <= 4_096
    Self.drain(
      &outputEnd, into: &answer, most: maximumAnswer, count: isShort ? 4_096 : 1 << 16, reads: isShort ? 1 : 16)
    Self.drain(&errorEnd, into: &errors, most: keptErrors, count: 1 << 14, reads: 8)
  }

  /// Reads a pipe, `reads` times at most, so that a flood does not keep the caller busy, and keeps the first `most` bytes. Closes it at its end.
  private static func drain(_ end: inout Int32, into kept: inout [UInt8], most: Int, count: Int, reads: Int) {
    guard end >= 0 else { return }
    var bytes = [UInt8](repeating: 0, count: count)
    for _ in 0..<reads {
      let count = read(end, &bytes, bytes.count)
      if count == 0 {
        close(end)
        end = -1
      }
      guard count > 0 else { return }
      kept += bytes[..<min(count, max(0, most - kept.count))]
    }
  }

  /// Waits for at most so many milliseconds until it has written something, or takes more of its input.
  func wait(milliseconds: Int32) {
    var pollers = [
      pollfd(fd: outputEnd, events: Int16(POLLIN), revents: 0),
      pollfd(fd: inputEnd, events: Int16(POLLOUT), revents: 0),
    ]
    // Without output to wait for it is about to end.
    _ = poll(&pollers, 2, outputEnd < 0 ? min(milliseconds, 5) : milliseconds)
  }

  /// Calls `body` with the strings as C has them, a null pointer at the end.
  static func withStrings<R>(_ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> R) -> R {
    let pointers = strings.map { strdup($0) }
    defer { for pointer in pointers { free(pointer) } }
    return body(pointers + [nil])
  }
}
