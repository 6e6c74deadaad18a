import Foundation
import IMTestSupport
import Testing

/// A terminal that a command runs in: what it prints is read, and its questions where the cursor is are answered.
enum Terminal {
  private struct Failure: Error {}

  /// Runs the command until it ends on a terminal of so many columns, and gives what it has written. `own` is added to the
  /// environment. `width` tells how many cells a piece of text takes that
  /// stands between the beginning of a line and a question; `nil` leaves it unanswered.
  static func run(
    _ arguments: [String], columns: Int = 80, environment own: [String: String] = [:],
    width: (String) -> Int? = { _ in nil }
  ) throws -> String {
    let master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
    guard master >= 0 else { throw Failure() }
    defer { close(master) }
    // TIOCSPTLCK and TIOCGPTN of <asm/ioctls.h>: what unlockpt(3) and ptsname(3) ask.
    var lock: Int32 = 0, number: Int32 = 0
    // TIOCSWINSZ: rows, columns, and both in pixels.
    var size: [UInt16] = [24, UInt16(columns), 0, 0]
    guard ioctl(master, 0x5414, &size) == 0 else { throw Failure() }
    guard ioctl(master, 0x4004_5431, &lock) == 0, ioctl(master, 0x8004_5430, &number) == 0 else { throw Failure() }
    let slave = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
    guard slave >= 0 else { throw Failure() }
    var environment = Command.environment.merging(["LC_ALL": "C.UTF-8", "TERM": "xterm"]) { $1 }
    environment["COLUMNS"] = nil
    let command = try Program(
      Command.program.path, arguments, environment: environment.merging(own) { $1 }, folder: Command.folder.path,
      input: slave, output: slave, errors: slave)
    // The last end that is open is the command's: behind it the terminal says that nobody is there.
    close(slave)
    var told: [UInt8] = []
    var answered = 0
    let question = Array("\u{1b}[6n".utf8)
    let deadline = Date().addingTimeInterval(120)
    while Date() < deadline {
      var poller = pollfd(fd: master, events: Int16(POLLIN), revents: 0)
      guard poll(&poller, 1, 1_000) > 0 else { continue }
      var bytes = [UInt8](repeating: 0, count: 4_096)
      let count = read(master, &bytes, bytes.count)
      guard count > 0 else { break }
      told += bytes.prefix(count)
      while let range = told[answered...].firstRange(of: question) {
        let piece = String(decoding: told[answered..<range.lowerBound], as: UTF8.self)
        answered = range.upperBound
        // Behind the last sequence that clears the line.
        guard let cells = width(piece.components(separatedBy: "\u{1b}[K").last ?? "") else { continue }
        let answer = Array("\u{1b}[1;\(cells + 1)R".utf8)
        _ = write(master, answer, answer.count)
      }
    }
    _ = command.wait()
    return String(decoding: told, as: UTF8.self)
  }
}
