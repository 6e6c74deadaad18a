import Glibc

/// A program that a test runs, started by posix_spawn(3) alone: it needs no run loop, and no network to be there.
package struct Program {
  /// How a program ended.
  package enum Ending: Equatable, Sendable {
    case exit(Int32)
    case signal(Int32)

    /// The exit status, or the number of the signal.
    package var status: Int32 {
      switch self {
      case .exit(let status), .signal(let status): status
      }
    }
  }

  /// What a whole run wrote, and how it ended.
  package struct Result {
    /// Standard output.
    package let output: String
    /// Standard error.
    package let errors: String
    /// How it ended.
    package let ending: Ending
  }

  /// A program that cannot be started: the error number.
  package struct Failure: Error { package let number: Int32 }

  /// Its process number.
  package let id: Int32

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - environment: all that it finds in its environment.
  ///   - folder: its working directory; this process's if nil.
  ///   - input, output, errors: its standard descriptors; nil for `/dev/null`.
  package init(
    _ path: String, _ arguments: [String], environment: [String: String] = [:], folder: String? = nil,
    input: Int32? = nil, output: Int32? = nil, errors: Int32? = nil
  ) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for (number, descriptor) in [input, output, errors].enumerated() {
      if let descriptor {
        posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(number))
      } else {
        posix_spawn_file_actions_addopen(&actions, Int32(number), "/dev/null", O_RDWR, 0)
      }
    }

    // The threads that tests run on block signals, and somebody may have set one to be ignored.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    var all = sigset_t()
    sigemptyset(&none)
    sigfillset(&all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

    // env(1) becomes the program, in its folder.
    let command = (folder.map { ["/usr/bin/env", "-C", $0] } ?? []) + [path] + arguments
    var words = command.map { strdup($0) } + [nil]
    var variables = environment.map { strdup("\($0)=\($1)") } + [nil]
    defer { for text in words + variables { free(text) } }
    var id: pid_t = 0
    let number = posix_spawn(&id, command[0], &actions, &attributes, &words, &variables)
    guard number == 0 else { throw Failure(number: number) }
    self.id = id
  }

  /// Waits for the end.
  package func wait() -> Ending {
    var status: Int32 = 0
    while waitpid(id, &status, 0) < 0 && errno == EINTR {}
    return status & 0x7f == 0 ? .exit(status >> 8 & 0xff) : .signal(status & 0x7f)
  }

  /// Runs a program to its end and returns what it wrote. What it writes goes to files: a full pipe would hold it up.
  package static func run(
    _ path: String, _ arguments: [String], environment: [String: String] = [:], folder: String? = nil,
    input: Int32? = nil
  ) throws -> Result {
    let output = scratchFile()
    let errors = scratchFile()
    defer {
      close(output)
      close(errors)
    }
    let program = try Program(
      path, arguments, environment: environment, folder: folder, input: input, output: output, errors: errors)
    let ending = program.wait()
    return Result(output: text(of: output), errors: text(of: errors), ending: ending)
  }

  /// A file without a name, for what a program writes; its owner closes it.
  package static func scratchFile() -> Int32 {
    var name = Array("/tmp/imdump-test-XXXXXX".utf8CString)
    let descriptor = mkstemp(&name)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    unlink(name)
    return descriptor
  }

  /// What a file holds that a program wrote.
  package static func text(of descriptor: Int32) -> String {
    let count = Int(max(0, lseek(descriptor, 0, SEEK_END)))
    return String(unsafeUninitializedCapacity: count) { buffer in
      var filled = 0
      while filled < count {
        let read = pread(descriptor, buffer.baseAddress.map { $0 + filled }, count - filled, off_t(filled))
        guard read > 0 else { break }
        filled += read
      }
      return filled
    }
  }
}
