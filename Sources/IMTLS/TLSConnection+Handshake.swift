import CCrypto
import IMWire

/// Handshake messages. Only hellos and EncryptedExtensions are gathered; of others the type and the end suffice.
extension TLSConnection {
  private static let longestMessage = 65_536
  private static let longestSkip = 1 << 20

  /// Takes the handshake messages of a record, fragments included; tells the weightiest of them.
  func handshake(
    _ bytes: UnsafeRawBufferPointer, _ direction: Int, _ time: Timestamp, isEncrypted: Bool, _ context: TLSContext
  ) -> TLSControl {
    let side = sides + (direction & 1)
    var result = TLSControl.handshake(
      type: bytes.isEmpty ? 255 : side.pointee.handshakeSkip > 0 ? side.pointee.handshakeType : bytes[0])
    var at = 0
    while at < bytes.count {
      if side.pointee.handshakeSkip > 0 {
        let count = min(Int(side.pointee.handshakeSkip), bytes.count - at)
        side.pointee.handshakeSkip -= UInt32(count)
        at += count
        if side.pointee.handshakeSkip == 0 {
          ended(side.pointee.handshakeType, nil, direction, time, isEncrypted: isEncrypted, context, &result)
        }
        continue
      }
      // A message, or its header, that began in an earlier record.
      if !side.pointee.handshake.isEmpty {
        let needed = side.pointee.handshake.count < 4 ? 4 : 4 + Self.length(side.pointee.handshake)
        let count = min(needed - side.pointee.handshake.count, bytes.count - at)
        side.pointee.handshake.append(contentsOf: bytes[at..<at + count])
        at += count
        guard side.pointee.handshake.count == needed else { continue }
        if needed == 4 {
          let length = Self.length(side.pointee.handshake)
          let type = side.pointee.handshake[0]
          if !Self.isGathered(type) || length > Self.longestMessage - 4 {
            side.pointee.handshake = []
            guard length <= Self.longestSkip else { return result }
            begin(type, length, side)
            if length == 0 { ended(type, nil, direction, time, isEncrypted: isEncrypted, context, &result) }
            continue
          }
          if length > 0 { continue }
        }
        var message: [UInt8] = []
        swap(&message, &side.pointee.handshake)
        message.withUnsafeBytes { ended($0[0], $0, direction, time, isEncrypted: isEncrypted, context, &result) }
        continue
      }
      guard bytes.count - at >= 4 else {
        side.pointee.handshake.append(contentsOf: bytes[at...])
        break
      }
      let type = bytes[at]
      let length = Int(bytes[at + 1]) << 16 | Int(bytes[at + 2]) << 8 | Int(bytes[at + 3])
      if bytes.count - at - 4 >= length {
        let message = UnsafeRawBufferPointer(rebasing: bytes[at..<at + 4 + length])
        at += 4 + length
        ended(type, message, direction, time, isEncrypted: isEncrypted, context, &result)
      } else if Self.isGathered(type), length <= Self.longestMessage - 4 {
        side.pointee.handshake.append(contentsOf: bytes[at...])
        break
      } else {
        // No message is that long: the record begins within one whose beginning is missing.
        guard length <= Self.longestSkip else { return result }
        at += 4
        begin(type, length, side)
      }
    }
    return result
  }

  /// Begins to pass over a message.
  private func begin(_ type: UInt8, _ length: Int, _ side: UnsafeMutablePointer<TLSSide>) {
    side.pointee.handshakeType = type
    side.pointee.handshakeSkip = UInt32(length)
  }

  private static func length(_ bytes: [UInt8]) -> Int { Int(bytes[1]) << 16 | Int(bytes[2]) << 8 | Int(bytes[3]) }

  private static func isGathered(_ type: UInt8) -> Bool { type == 1 || type == 2 || type == 8 }

  /// A message ended; of those that are not gathered, and did not lie in one record, without its bytes.
  private func ended(
    _ type: UInt8, _ message: UnsafeRawBufferPointer?, _ direction: Int, _ time: Timestamp, isEncrypted: Bool,
    _ context: TLSContext, _ result: inout TLSControl
  ) {
    let side = sides + (direction & 1)
    let isTLS13 = side.pointee.keys?.isTLS13 == true
    switch type {
    case 1:
      guard let message, let hello = TLSHelloMessage(message) else { return }
      take(client: hello, direction, time, isEncrypted: isEncrypted, context)
      result = .clientHello
    case 2:
      guard let message, let hello = TLSHelloMessage(message) else { return }
      take(server: hello, direction, isEncrypted: isEncrypted, context)
      result = hello.isRetry ? .helloRetryRequest : .serverHello
    case 5 where isTLS13 && side.pointee.epoch == .early:
      side.pointee.install(nil, .none)
      side.pointee.isEarlyOver = true
    case 8 where isTLS13:
      if let message { takeExtensions(message) }
    case 14: hasHelloDone = true
    case 20 where isEncrypted:
      if isTLS13 {
        // A Finished of later on is that of a client's certificate that was asked for then.
        guard side.pointee.epoch == .handshake else { return }
        side.pointee.install(nil, .traffic)
      }
      side.pointee.isFinished = true
      revision &+= 1
      if sides[0].isFinished, sides[1].isFinished, facts.finishedTime == nil { facts.finishedTime = time }
    case 24 where isTLS13:
      guard side.pointee.epoch == .traffic, let keys = side.pointee.keys else { return }
      side.pointee.install(TLSDerivation.updated(keys), .traffic)
      side.pointee.updateCount = min(side.pointee.updateCount, .max - 1) + 1
      result = .keyUpdate
    default: break
    }
  }

  private func take(
    client hello: TLSHelloMessage, _ direction: Int, _ time: Timestamp, isEncrypted: Bool, _ context: TLSContext
  ) {
    if !sidesAreCertain, role(direction) == 1 { isSwapped.toggle() }
    sidesAreCertain = true
    guard role(direction) == 0 else { return }
    if isEncrypted {
      if sides[direction & 1].keys?.isTLS13 == false { addRenegotiated(client: hello.random, context) }
      return
    }
    // If the other direction was read further ahead into a renegotiation, there are newer ones.
    if renegotiation == nil { setClientRandom(hello.random, context) }
    if facts.helloTime == nil { facts.helloTime = time }
    if !facts.isVersionChosen { facts.version = hello.version }
    if let name = hello.serverName { facts.serverName = name }
    if let name = hello.protocols.first, !name.isEmpty { facts.offeredProtocol = name }
    // The second hello after a HelloRetryRequest offers none.
    facts.offersEarlyData = facts.offersEarlyData || hello.hasEarlyData
    facts.offersEncryptedHello = facts.offersEncryptedHello || hello.hasEncryptedHello
    if let print = hello.fingerprint, facts.ja3 == nil {
      facts.ja3 = print.ja3
      let ja4 = print.ja4
      facts.ja4Head = ja4.head
      facts.ja4Hashes = (ja4.suites, ja4.extensions)
    }
  }

  private func take(server hello: TLSHelloMessage, _ direction: Int, isEncrypted: Bool, _ context: TLSContext) {
    if !sidesAreCertain, role(direction) == 0 { isSwapped.toggle() }
    sidesAreCertain = true
    guard role(direction) == 1 else { return }
    let order: TLSKeys.MACOrder =
      hello.hasEncryptThenMAC ? .encryptThenMAC : hello.isWhole ? .macThenEncrypt : .isUnknown
    if isEncrypted {
      guard sides[direction & 1].keys?.isTLS13 == false, hello.version < 0x0304, !hello.isRetry else { return }
      addRenegotiated(server: TLSRenegotiation.ServerHello(random: hello.random, suite: hello.suite, order: order))
    }
    facts.version = hello.version
    facts.isVersionChosen = true
    facts.suite = hello.suite
    revision &+= 1
    if hello.isRetry {
      facts.isRetried = true
      if facts.offersEarlyData { facts.isEarlyDataAccepted = false }
      return
    }
    serverRandom = hello.random
    hasServerHello = true
    self.order = order
    if hello.version >= 0x0304 {
      if hello.isWhole {
        facts.isResumed = hello.hasPreSharedKey
        if facts.offersEarlyData, !hello.hasPreSharedKey { facts.isEarlyDataAccepted = false }
      }
      if let suite = TLSSuites.suite(hello.suite) { provedSuite = suite }
    } else {
      if facts.offersEarlyData { facts.isEarlyDataAccepted = false }
      if let name = hello.protocols.first, !name.isEmpty { facts.chosenProtocol = name }
      for direction in 0..<2 { sides[direction].hasNewerHellos = true }
    }
  }

  /// EncryptedExtensions: the protocol, and whether early data is accepted.
  private func takeExtensions(_ message: UnsafeRawBufferPointer) {
    guard message.count >= 6 else { return }
    var at = 6
    let end = min(message.count, 6 + (Int(message[4]) << 8 | Int(message[5])))
    var isAccepted = false
    while at + 4 <= end {
      let type = UInt16(message[at]) << 8 | UInt16(message[at + 1])
      let from = at + 4
      at = from + (Int(message[at + 2]) << 8 | Int(message[at + 3]))
      guard at <= end else { break }
      if type == 16, let name = TLSHelloMessage.protocols(UnsafeRawBufferPointer(rebasing: message[from..<at])).first,
        !name.isEmpty
      {
        facts.chosenProtocol = name
      }
      if type == 42 { isAccepted = true }
    }
    if facts.offersEarlyData, facts.isEarlyDataAccepted == nil { facts.isEarlyDataAccepted = isAccepted }
    revision &+= 1
  }

  /// The first bytes of a hello whose record is not whole: the random is there early, and may be all there is.
  func peek(_ bytes: UnsafeRawBufferPointer, _ direction: Int, _ time: Timestamp, _ context: TLSContext) {
    let side = sides + (direction & 1)
    guard bytes.count >= 5 + 38, bytes[0] == 22, side.pointee.keys == nil, side.pointee.epoch == .none,
      side.pointee.handshake.isEmpty, side.pointee.handshakeSkip == 0
    else { return }
    let message = UnsafeRawBufferPointer(rebasing: bytes[5...])
    guard let hello = TLSHelloMessage(message) else { return }
    if hello.isClient {
      guard role(direction) == 0 || !sidesAreCertain, !hasClientHello else { return }
      if role(direction) == 1 { isSwapped.toggle() }
      sidesAreCertain = true
      setClientRandom(hello.random, context)
    }
  }

  /// The same of a record that will not become whole: what there is has to do.
  func takeCut(_ bytes: UnsafeRawBufferPointer, _ direction: Int, _ time: Timestamp, _ context: TLSContext) {
    let side = sides + (direction & 1)
    guard bytes.count >= 5 + 38, bytes[0] == 22, side.pointee.keys == nil, side.pointee.epoch == .none else { return }
    let message = UnsafeRawBufferPointer(rebasing: bytes[5...])
    guard let hello = TLSHelloMessage(message) else { return }
    if hello.isClient {
      take(client: hello, direction, time, isEncrypted: false, context)
    } else if hello.suite != 0 {
      take(server: hello, direction, isEncrypted: false, context)
    }
  }
}
