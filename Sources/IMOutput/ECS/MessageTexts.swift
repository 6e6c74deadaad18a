import IMEngine
import IMWire

/// What is the same in the documents of all messages of one direction of a connection: made once, most of a document.
///
/// It stands in one piece of memory, because a connection's messages come far apart:
///
///     part      text
///     id        RUN-7-c2s-
///     source    "source":{"ip":"10.0.0.5","port":52344        without it in a lean document
///     middle    },"destination":{...},"client":{...} ... "msg":{"id":
///     way       10.0.0.5:52344 > 203.0.113.9:8080
final class MessageTexts {
  private let memory: UnsafeMutableRawBufferPointer
  private let idEnd: Int, sourceEnd: Int, middleEnd: Int
  /// The session in it, and the name of the client.
  let session: UInt64?
  let userName: String?

  /// `id` and so on are the parts; `session` and `userName` tell when they have to be made anew.
  init(id: String, source: String, middle: String, way: String, session: UInt64?, userName: String?) {
    let text = id + source + middle + way
    memory = .allocate(byteCount: text.utf8.count, alignment: 1)
    memory.copyBytes(from: text.utf8)
    idEnd = id.utf8.count
    sourceEnd = idEnd + source.utf8.count
    middleEnd = sourceEnd + middle.utf8.count
    self.session = session
    self.userName = userName
  }

  deinit { memory.deallocate() }

  var id: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<idEnd]) }
  var source: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[idEnd..<sourceEnd]) }
  var middle: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[sourceEnd..<middleEnd]) }
  var way: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[middleEnd...]) }
}

extension ECSWriter {
  /// The texts of the messages of `record` in one direction. They are kept with the record while `keeps`.
  func texts(
    _ record: ConnectionRecord, _ direction: Direction, _ plan: UInt8, session: UInt64?, keeps: Bool
  ) -> MessageTexts {
    let way = Int(direction.rawValue)
    if let known = record.texts[way], known.session == session, known.userName == record.userName { return known }
    let new = makeTexts(record, direction, plan, session: session)
    if keeps { record.texts[way] = new }
    return new
  }

  private func makeTexts(
    _ record: ConnectionRecord, _ direction: Direction, _ plan: UInt8, session number: UInt64?
  ) -> MessageTexts {
    let info = record.info
    let fromClient = direction == .clientToServer
    let isLean = options.isLean
    var lines = JSONLines()
    lines.begin()
    var source = ""
    if !isLean {
      lines.open("source")
      lines.members(fromClient ? record.clientMembers : record.serverMembers)
      source = Self.takeText(&lines)
      lines.close()
      lines.open("destination")
      lines.members(fromClient ? record.serverMembers : record.clientMembers)
      lines.close()
    }
    lines.open("client")
    lines.members(record.clientMembers)
    user(record, &lines)
    lines.close()
    lines.open("server")
    lines.members(record.serverMembers)
    lines.close()
    lines.open("network")
    lines.members(record.network(protocol: profile(plan)?.protocolName))
    // As the server's network sees it.
    lines.literal(fromClient ? "\"direction\":\"inbound\"" : "\"direction\":\"outbound\"")
    lines.close()
    openOwn(plan, isLean: isLean, &lines)
    server(info.server, &lines)
    session(number.map { .number($0) } ?? record.session, &lines)
    lines.open("conn")
    lines.key("id")
    connectionID(info.serial, &lines)
    lines.close()
    lines.open("msg")
    lines.key("id")
    let middle = Self.takeText(&lines)
    lines.writer.endpoint(fromClient ? info.client : info.server)
    lines.writer.literal(" > ")
    lines.writer.endpoint(fromClient ? info.server : info.client)
    let path = Self.takeText(&lines)
    return MessageTexts(
      id: "\(run)-\(info.serial)-\(fromClient ? "c2s" : "s2c")-", source: source, middle: middle, way: path,
      session: number, userName: record.userName)
  }

  /// What was written since the last time, without the brace that begins a line.
  private static func takeText(_ lines: inout JSONLines) -> String {
    let text = lines.writer.text
    lines.writer.removeAll()
    return text.first == "{" ? String(text.dropFirst()) : text
  }
}
