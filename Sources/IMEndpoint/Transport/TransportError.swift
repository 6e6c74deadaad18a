import Glibc

/// What the system or the peer refused.
public struct TransportError: Error, Equatable, Sendable, CustomStringConvertible {
  /// What was attempted: the system call, or the step of a TLS handshake.
  public var operation: String
  /// The system's error number; 0 where another library gave the reason.
  public var code: Int32
  /// The reason in words where there is no error number.
  public var reason: String

  /// The error number `code` of a system call.
  public init(_ operation: String, _ code: Int32) {
    self.operation = operation
    self.code = code
    reason = ""
  }

  /// A reason in words.
  public init(_ operation: String, reason: String) {
    self.operation = operation
    code = 0
    self.reason = reason
  }

  /// The attempt and the reason, as a person reads them.
  public var description: String {
    operation + ": " + (code == 0 ? reason : String(cString: strerror(code)))
  }
}
