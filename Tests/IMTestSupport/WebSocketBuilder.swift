/// WebSocket as bytes: the HTTP that opens it, and frames.
///
/// Source: RFC 6455, sections 1.3, 4 and 5.2; RFC 7692, section 7.
package enum WebSocketBuilder {
  /// The client's request.
  package static func request(extensions: String? = nil, subprotocol: String? = "mqtt") -> [UInt8] {
    head(
      "GET /mqtt HTTP/1.1", ["Host: example.org", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="], extensions,
      subprotocol)
  }

  /// The server's answer to it.
  package static func answer(extensions: String? = nil, subprotocol: String? = "mqtt") -> [UInt8] {
    head(
      "HTTP/1.1 101 Switching Protocols", ["Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="], extensions,
      subprotocol)
  }

  private static func head(_ first: String, _ fields: [String], _ extensions: String?, _ subprotocol: String?)
    -> [UInt8]
  {
    var lines = [first, "Upgrade: websocket", "Connection: Upgrade"] + fields
    if let subprotocol { lines.append("Sec-WebSocket-Protocol: \(subprotocol)") }
    if let extensions { lines.append("Sec-WebSocket-Extensions: \(extensions)") }
    return [UInt8]((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
  }

  /// A frame; `key` masks it, and `claimedLength` is what its length says, where it is to lie.
  package static func frame(
    _ payload: [UInt8], opcode: UInt8 = 2, isFinal: Bool = true, isCompressed: Bool = false, key: [UInt8]? = nil,
    claimedLength: Int? = nil
  ) -> [UInt8] {
    let length = claimedLength ?? payload.count
    let mask: UInt8 = key == nil ? 0 : 0x80
    var bytes = [(isFinal ? 0x80 : 0) | (isCompressed ? 0x40 : 0) | opcode]
    if length < 126 {
      bytes.append(mask | UInt8(length))
    } else if length < 65_536 {
      bytes.append(mask | 126)
      bytes.append(big: UInt16(length))
    } else {
      bytes.append(mask | 127)
      bytes.append(big: UInt64(length))
    }
    guard let key else { return bytes + payload }
    return bytes + key + payload.enumerated().map { $1 ^ key[$0 & 3] }
  }
}
