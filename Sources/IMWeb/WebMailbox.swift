import CSandbox
import Glibc
import Synchronization

/// What the capture and the thread that serves hand to each other. Neither waits for the other, and there is no lock:
/// wishes are bits, a text is a pointer that changes hands, and a pipe wakes the one that sleeps.
final class WebMailbox: Sendable {
  /// A text on its way.
  private final class Parcel: Sendable {
    let response: HTTPResponse
    init(_ response: HTTPResponse) { self.response = response }
  }

  /// The pipe could not be made.
  struct Failure: Error {
    var errno: Int32
  }

  /// Becomes readable when there is something to take, or the end has come.
  let readable: Int32
  private let writable: Int32
  private let wanted = Atomic<Int>(0)
  private let prometheus = Atomic<Unmanaged<Parcel>?>(nil)
  private let openMetrics = Atomic<Unmanaged<Parcel>?>(nil)
  private let page = Atomic<Unmanaged<Parcel>?>(nil)
  private let hasEnded = Atomic<Bool>(false)

  /// An empty mailbox.
  init() throws(Failure) {
    var ends: [Int32] = [-1, -1]
    let result = imdump_pipe(&ends)
    guard result == 0 else { throw Failure(errno: -result) }
    readable = ends[0]
    writable = ends[1]
  }

  deinit {
    for resource in WebResource.allCases { _ = take(resource) }
    close(readable)
    close(writable)
  }

  // MARK: The capture's side

  /// Those of `resources` that somebody waits for, since the last call.
  func takeRequests(_ resources: [WebResource]) -> [WebResource] {
    let mask = resources.reduce(0) { $0 | $1.bit }
    guard wanted.load(ordering: .relaxed) & mask != 0 else { return [] }
    let bits = wanted.bitwiseAnd(~mask, ordering: .relaxed).oldValue
    return resources.filter { bits & $0.bit != 0 }
  }

  /// Hands a text over. One that has not been taken is replaced.
  func put(_ response: HTTPResponse, _ resource: WebResource) {
    let parcel = Unmanaged.passRetained(Parcel(response))
    exchange(parcel, resource)?.release()
    wake()
  }

  /// Ends the other side.
  func end() {
    hasEnded.store(true, ordering: .releasing)
    wake()
  }

  private func wake() {
    // A pipe that is full wakes as well.
    withUnsafeBytes(of: UInt8(0)) { _ = write(writable, $0.baseAddress, $0.count) }
  }

  // MARK: The side of the thread that serves

  /// Whether there is nothing more to do.
  var isOver: Bool { hasEnded.load(ordering: .acquiring) }

  /// Asks the capture for texts.
  func want(_ bits: Int) {
    if bits != 0 { wanted.bitwiseOr(bits, ordering: .relaxed) }
  }

  /// Empties the pipe, so that it wakes again. What it told of is taken afterwards.
  func quieten() {
    var bytes = InlineArray<64, UInt8>(repeating: 0)
    var span = bytes.mutableSpan
    span.withUnsafeMutableBytes { while read(readable, $0.baseAddress, $0.count) == $0.count {} }
  }

  /// The text that was handed over, if there is one.
  func take(_ resource: WebResource) -> HTTPResponse? {
    exchange(nil, resource)?.takeRetainedValue().response
  }

  private func exchange(_ parcel: Unmanaged<Parcel>?, _ resource: WebResource) -> Unmanaged<Parcel>? {
    switch resource {
    case .prometheus: prometheus.exchange(parcel, ordering: .acquiringAndReleasing)
    case .openMetrics: openMetrics.exchange(parcel, ordering: .acquiringAndReleasing)
    case .page: page.exchange(parcel, ordering: .acquiringAndReleasing)
    }
  }
}
