/// What messages tell that holds for their connection, by connection; bounded, whatever the connections say.
package struct FieldMemory {
  struct Connection {
    /// Fields that are remembered, with their values.
    var values: [NamedField] = []
    /// Texts by their numbers, for each direction.
    var aliases: ([UInt64: String], [UInt64: String]) = ([:], [:])
  }

  /// The most connections, and the most bytes of texts.
  static let maximumConnections = 65_536, maximumBytes = 16 << 20

  private var connections: [UInt32: Connection] = [:]
  private var byteCount = 0

  /// Nothing is remembered.
  package init() {}

  /// Forgets the connection.
  package mutating func forget(_ connection: UInt32) {
    guard let old = connections.removeValue(forKey: connection) else { return }
    for text in old.aliases.0.values { byteCount -= text.utf8.count + 64 }
    for text in old.aliases.1.values { byteCount -= text.utf8.count + 64 }
  }

  func values(_ connection: UInt32) -> [NamedField] { connections[connection]?.values ?? [] }

  mutating func remember(_ field: NamedField, _ connection: UInt32) {
    bound(connection)
    var values = connections[connection]?.values ?? []
    values.removeAll { $0.field == field.field }
    values.append(field)
    connections[connection, default: Connection()].values = values
  }

  func alias(_ key: UInt64, _ connection: UInt32, back: Bool) -> String? {
    guard let connection = connections[connection] else { return nil }
    return back ? connection.aliases.1[key] : connection.aliases.0[key]
  }

  mutating func alias(_ key: UInt64, _ text: String, _ connection: UInt32, back: Bool) {
    byteCount += text.utf8.count + 64
    bound(connection)
    let old =
      back
      ? connections[connection, default: Connection()].aliases.1.updateValue(text, forKey: key)
      : connections[connection, default: Connection()].aliases.0.updateValue(text, forKey: key)
    if let old { byteCount -= old.utf8.count + 64 }
  }

  /// Makes room: where there is too much, all of it is forgotten.
  private mutating func bound(_ connection: UInt32) {
    let isFull = connections.count >= Self.maximumConnections && connections[connection] == nil
    guard isFull || byteCount > Self.maximumBytes else { return }
    connections.removeAll()
    byteCount = 0
  }
}
