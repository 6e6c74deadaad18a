import CSandbox
import Glibc
import IMDescriptors
import IMOutput
package import IMSystem

/// Where a run's log files are shipped while they are written: `--ship` and `--otlp`.
package struct ShippingOptions: Equatable, Sendable {
  /// The engine's address, or a receiver's after `otlp+`.
  package var address: String
  /// A file with further headers of each request.
  package var headersFile: String?
  /// Seconds after which a file that was sent whole is removed; `nil` for never.
  package var deletesAfter: Int64?

  /// An address and nothing else.
  package init(address: String) { self.address = address }
}

/// Starts the process that ships a run's log files, and waits for it at the end.
///
/// The process is `imdump ship --follow` over the folder, with the rights of the user that the run becomes: the capture keeps no right to
/// the network. The files are the queue, so a process that ends early loses nothing: `imdump ship` goes on where it was.
package final class Shipper {
  /// How this program is called to ship.
  static let word = "--ship-logs"
  /// Seconds that the process has for what is left, once the files are whole, and that the run waits for it.
  static let closing = 10.0
  private static let patience = 13.0

  private let socket: Int32

  /// Starts the process for the files in `folder`, which is there.
  package init(_ options: ShippingOptions, folder: String, isQuiet: Bool, user: Sandbox.User?) throws(UsageError) {
    guard Deliverer.find("curl") != nil else {
      throw UsageError(message: "--ship and --otlp need curl (apt-get install curl)")
    }
    guard let real = realpath(folder, nil) else { throw UsageError(message: "\(folder): \(systemText(errno))") }
    defer { free(real) }
    let path = String(cString: real)
    _ = try ShipSecrets.access(ShipOptions(options, folder: path))
    try Self.makeState(path + "/.ship", user)
    socket = try HelperProcess.start(Self.word, purpose: "shipping of log files")
    let message = DeliveryMessage(
      DeliveryMessage.configuration, user.map { "\($0.uid) \($0.gid)" } ?? "", isQuiet ? "quiet" : "", path,
      options.address, options.headersFile ?? "", options.deletesAfter.map { "\($0)" } ?? "")
    let bytes = message.bytes
    guard write(socket, bytes, bytes.count) == bytes.count else {
      throw UsageError(message: "shipping of log files: \(systemText(errno))")
    }
  }

  deinit { close(socket) }

  /// Makes the folder of the state, for the user that the process becomes.
  private static func makeState(_ path: String, _ user: Sandbox.User?) throws(UsageError) {
    if mkdir(path, 0o750) == 0 {
      user?.own(folder: path)
    } else if errno != EEXIST {
      throw UsageError(message: "\(path): \(systemText(errno)); the state of sending is kept there")
    }
  }

  /// The run's files are whole: has the process send what is left, and waits for it.
  package func end() {
    let last = DeliveryMessage(DeliveryMessage.end).bytes
    guard write(socket, last, last.count) == last.count else { return }
    let until = MonotonicClock.seconds() + Self.patience
    var bytes = [UInt8](repeating: 0, count: 1)
    while true {
      let left = until - MonotonicClock.seconds()
      guard left > 0 else {
        return logError("the last documents are still being sent; imdump ship can send the rest later")
      }
      var poller = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
      guard poll(&poller, 1, Int32(left * 1_000) + 1) > 0 else { continue }
      let count = read(socket, &bytes, bytes.count)
      if count < 0, errno == EINTR || errno == EAGAIN { continue }
      return
    }
  }
}

/// In the process that a `Shipper` started: ships until its run has ended. `nil` where this is no such process.
package func shipLogs(_ words: [String]) -> ExitStatus? {
  guard HelperProcess.isStarted(words, with: Shipper.word) else { return nil }
  signal(SIGPIPE, SIG_IGN)
  var bytes = [UInt8](repeating: 0, count: DeliveryMessage.maximumBytes)
  let count = read(HelperProcess.descriptor, &bytes, bytes.count)
  guard count > 0, let message = DeliveryMessage(decoding: bytes[..<count]),
    message.text(0) == DeliveryMessage.configuration
  else { return .failure }
  var shipping = ShippingOptions(address: message.text(4))
  shipping.headersFile = message.text(5).isEmpty ? nil : message.text(5)
  shipping.deletesAfter = Int64(message.text(6))
  var options = ShipOptions(shipping, folder: message.text(3))
  options.isQuiet = !message.text(2).isEmpty
  options.runSocket = HelperProcess.descriptor
  // Read with the rights of the run that was started: the user that it becomes may not.
  do throws(UsageError) { options.access = try ShipSecrets.access(options) } catch {
    logError(error.message)
    return .usage
  }
  options.headersFile = nil
  let user = message.text(1).split(separator: " ").compactMap { UInt32($0) }
  if user.count == 2, imdump_become(user[0], user[1]) < 0 {
    logError("shipping of log files: cannot become user \(user[0]); nothing is sent")
    return .noPermission
  }
  if geteuid() != 0 { _ = imdump_drop_capabilities() }
  _ = chdir("/")
  do throws(UsageError) {
    return try runShip(options)
  } catch {
    logError(error.message)
    return .usage
  }
}
