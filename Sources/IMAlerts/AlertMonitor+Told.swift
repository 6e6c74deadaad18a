package import IMEngine
package import IMWire

/// What an endpoint tells of itself, as samples of the rules' windows: by the same rules as what a capture tells.
extension AlertMonitor {
  /// A message was sent for the first time, and waits for its answer.
  package func sent(_ exchange: UInt32, of info: ConnectionInfo, at time: Timestamp) {
    tick(time)
    let known = known(info, at: time)
    for index in interests.messages { count(index, known, at: time) }
    wait(exchange, known, since: time)
  }

  /// The fate of a message or of a heartbeat was decided.
  package func told(_ exchange: Exchange, of info: ConnectionInfo, at time: Timestamp) {
    tick(time)
    _ = known(info, at: time)
    resolve(exchange)
  }

  /// A connection came about, or did not.
  package func attempted(_ info: ConnectionInfo, hasSucceeded: Bool, at time: Timestamp) {
    tick(time)
    let known = known(info, at: time)
    for index in interests.attempts { count(index, known, at: time, isAffected: !hasSucceeded) }
    guard !hasSucceeded else { return }
    for index in interests.failures { count(index, known, at: time, isAffected: true) }
  }

  /// A client whose connections were all lost has one again.
  package func returned(_ info: ConnectionInfo, at time: Timestamp) {
    tick(time)
    let known = known(info, at: time)
    for index in interests.reconnects { count(index, known, at: time, isAffected: true) }
  }
}
