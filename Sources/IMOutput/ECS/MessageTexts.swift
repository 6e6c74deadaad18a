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

  /// The parts are what `writer` holds, up to these places; `session` and `userName` tell when they have to be made anew.
  init(_ writer: borrowing ByteWriter, idEnd: Int, sourceEnd: Int, middleEnd: Int, session: UInt64?, userName: String?)
  {
    memory = .allocate(byteCount: writer.count, alignment: 1)
    let memory = memory
    writer.withBytes { memory.copyMemory(from: $0) }
    self.idEnd = idEnd
    self.sourceEnd = sourceEnd
    self.middleEnd = middleEnd
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
    let profile = profile(plan)
    scratch.writer.removeAll()
    scratch.writer.raw(run.bytes)
    scratch.writer.byte(UInt8(ascii: "-"))
    scratch.writer.number(info.serial)
    if fromClient { scratch.writer.literal("-c2s-") } else { scratch.writer.literal("-s2c-") }
    let idEnd = scratch.writer.count
    scratch.part()
    if !isLean { open("source", fromClient ? info.peer : info.server, &scratch) }
    let sourceEnd = scratch.writer.count
    if !isLean {
      scratch.close()
      open("destination", fromClient ? info.server : info.peer, &scratch)
      scratch.close()
    }
    openClient(info, &scratch)
    user(record, &scratch)
    scratch.close()
    open("server", info.server, &scratch)
    scratch.close()
    scratch.open("network")
    network(record, profile, &scratch)
    // As the server's network sees it.
    if fromClient {
      scratch.literal("\"direction\":\"inbound\"")
    } else {
      scratch.literal("\"direction\":\"outbound\"")
    }
    scratch.close()
    openOwn(plan, isLean: isLean, &scratch)
    server(info.server, &scratch)
    self.session(number.map { .number($0) } ?? record.session, &scratch)
    scratch.open("conn")
    scratch.key("id")
    connectionID(info.serial, &scratch)
    scratch.close()
    scratch.open("msg")
    scratch.key("id")
    let middleEnd = scratch.writer.count
    scratch.writer.endpoint(fromClient ? info.client : info.server)
    scratch.writer.literal(" > ")
    scratch.writer.endpoint(fromClient ? info.server : info.client)
    return MessageTexts(
      scratch.writer, idEnd: idEnd, sourceEnd: sourceEnd, middleEnd: middleEnd, session: number,
      userName: record.userName)
  }
}
