package import IMEngine

/// The servers that a sink has been told of, by the index that the engine gives them (`ConnectionInfo.endpoint`).
///
/// Which server a connection belongs to, the engine's table decides for all outputs: frames say it, and for a connection that
/// failed, the server that is known at its address, or the profile whose usual port it went to.
package struct ServerRegistry: Sendable {
  /// At most so many; connections to further ones belong to none.
  private let maximumCount: Int
  private var keys: [EndpointKey?] = []

  /// An empty book of at most `maximumCount` servers.
  package init(maximumCount: Int = 65_536) { self.maximumCount = maximumCount }

  /// The server with an index that `index(of:)` has given.
  package subscript(index: UInt32) -> EndpointKey? {
    Int(index) < keys.count ? keys[Int(index)] : nil
  }

  /// The index of a decoded connection's server; `nil` where it belongs to none: nothing decodes it, there are too many, or
  /// the server shares the index of another, for want of memory.
  package mutating func index(of info: ConnectionInfo) -> UInt32? { index(of: info, plan: info.plan) }

  /// The index of the server that a report is about, which may be of a connection that failed on its way there.
  package mutating func index(of report: borrowing ConnectionReport) -> UInt32? {
    report.serverPlan.flatMap { index(of: report.info, plan: $0) }
  }

  private mutating func index(of info: ConnectionInfo, plan: UInt8) -> UInt32? {
    let index = info.endpoint
    guard index < UInt32(clamping: maximumCount) else { return nil }
    while keys.count <= Int(index) { keys.append(nil) }
    let key = EndpointKey(endpoint: info.server, plan: plan)
    if let known = keys[Int(index)] { return known == key ? index : nil }
    keys[Int(index)] = key
    return index
  }
}
