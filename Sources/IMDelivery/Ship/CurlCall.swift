import CSandbox
import Glibc
import IMDescriptors
import IMOutput
import IMShip
import IMSystem
import IMWire

/// Makes requests by the `curl` command, a process each, one after another.
struct CurlCall {
  /// Bytes of an answer that are kept. A longer one is broken off, as an answer that is not understood.
  private static let maximumAnswer = 8 << 20

  private let program: String
  private let access: CurlRequest.Access
  private let environment: [String]

  /// Throws where there is no such command.
  init(_ access: CurlRequest.Access) throws(UsageError) {
    guard let program = Deliverer.find("curl") else {
      throw UsageError(message: "imdump ship needs curl (apt-get install curl)")
    }
    self.program = program
    self.access = access
    var environment: [String] = [], place = environ
    while let entry = place.pointee {
      let text = String(cString: entry)
      // What is for this command is not for others.
      if !text.hasPrefix("IMDUMP_SHIP_") { environment.append(text) }
      place += 1
    }
    self.environment = environment
  }

  /// Makes a request and waits for its end.
  func make(_ request: CurlRequest, body: [UInt8] = []) -> CurlResponse {
    let file = imdump_memory_file()
    guard file >= 0 else { return Self.failed(-file) }
    defer { close(file) }
    let output = Output(descriptor: file, name: "request")
    body.withUnsafeBytes { output.write($0) }
    if let error = output.error { return Self.failed(error.errno) }
    let text = request.configuration(access, agent: "imdump/\(imdumpVersion)")
    do throws(Child.Failure) {
      var child = try Child(
        [program, "-q", "--config", "-"], environment: environment, input: Array(text.utf8), wantsAnswer: true,
        maximumAnswer: Self.maximumAnswer, file: file, fileDescriptor: CurlRequest.bodyDescriptor,
        patience: Double(request.seconds + 5), now: MonotonicClock.seconds())
      while true {
        if child.answer.count >= Self.maximumAnswer { child.hurry(now: MonotonicClock.seconds()) }
        if let ending = child.tend(now: MonotonicClock.seconds()) { return response(ending, child.answer) }
        child.wait(milliseconds: 1_000)
      }
    } catch {
      return Self.failed(error.errno)
    }
  }

  private func response(_ ending: Child.Ending, _ output: [UInt8]) -> CurlResponse {
    let exitStatus: Int32 =
      switch ending {
      case .exited(let status): status
      case .signalled(let number): 128 + number
      case .timedOut: 28
      }
    var response = CurlResponse(output: output, exitStatus: exitStatus, now: Timestamp.wallClock.seconds)
    response.message = access.redacted(response.message)
    if output.count >= Self.maximumAnswer {
      response = Self.failed(0)
      response.message = "an answer of more than \(Self.maximumAnswer >> 20) MiB"
    }
    return response
  }

  private static func failed(_ number: Int32) -> CurlResponse {
    var response = CurlResponse(output: [], exitStatus: 127, now: 0)
    response.message = "start curl: \(systemText(number))"
    return response
  }
}
