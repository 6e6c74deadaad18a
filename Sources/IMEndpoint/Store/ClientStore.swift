public import IMEndpointCore

/// Keeps what the next process of a client has to know: who the client is, messages that wait to be accepted, and which messages have
/// come. `FileStore` keeps it in a file; an application with a database of its own has a store that writes there.
///
/// Only the client's thread calls `append`. One client at a time uses a store.
public protocol ClientStore: AnyObject {
  /// Who the client is: the same for every process.
  var identity: ClientIdentity { get }
  /// What proves that: the same for every process.
  var secret: DeviceSecret { get }
  /// What was kept when the store was opened.
  var state: ClientState { get }

  /// Keeps operations, in their order: all of them, or none. Nothing that follows from them is sent before this returns. After an error the
  /// client sends nothing more (`ClientEvent.storeFailed`).
  func append(_ operations: [ClientOperation]) throws
}
