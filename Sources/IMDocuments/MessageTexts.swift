import CMachine
import IMEngine
import IMOutput
import IMOwners
import IMWire

/// What is the same in the documents of all messages of a connection: made once.
///
/// It stands in one piece of memory, because a connection's messages come far apart, and has only what is the connection's
/// own: the rest of a document is the profile's (`MessageForm`), and near.
///
///     part       text
///     connection RUN-7","uid":"UID: the values of `imdump.conn.id` and `uid`, without the first and the last quote
///     fromClient UID-0-, the prefix of the IDs of the client's messages
///     fromServer UID-1-, the prefix of the IDs of the server's messages
///     peer       "ip":"10.0.0.5","port":52344
///     server     "ip":"203.0.113.9","port":8080
///     client     the members of `client`; empty where they are those of `peer`
///     community  ,"community_id":"1:..."
///     session    ,"app_session":{"id":"..."}, where the session has a name
///     clientKey  10.0.0.5:52344
///     serverKey  203.0.113.9:8080
///     geo        "name":"...", where the client's network has a name
///     owner      ,"service":{"name":"..."}, and the like, where the owner of the end of this host is known
///     attributes the attributes of OpenTelemetry that all its messages have; empty where documents are written
struct MessageTexts: BitwiseCopyable {
  enum Part: Int {
    case connection, fromClient, fromServer, peer, server, client, community, session, clientKey, serverKey, geo, owner,
      attributes
  }

  /// Behind the text a pen may read.
  fileprivate(set) var memory: UnsafeMutableRawPointer
  /// Where the parts end.
  fileprivate var ends = InlineArray<13, UInt32>(repeating: 0)
  /// All bytes.
  var count: Int { Int(ends[12]) }

  /// Where a part begins and how many bytes it has.
  @inline(__always)
  subscript(part: Part) -> (start: UnsafeRawPointer, count: Int) {
    let start = part.rawValue == 0 ? 0 : Int(ends[part.rawValue &- 1])
    return (UnsafeRawPointer(memory + start), Int(ends[part.rawValue]) &- start)
  }

  /// Asks for their beginning, which is most of them.
  @inline(__always)
  func prefetch() {
    for line in 0..<4 { imdump_prefetch(memory + 64 &* line) }
  }

  /// The same texts in memory of their own.
  func copied() -> MessageTexts {
    var copy = self
    copy.memory = .allocate(byteCount: count + UncheckedWriter.slack, alignment: 1)
    copy.memory.copyMemory(from: memory, byteCount: count + UncheckedWriter.slack)
    return copy
  }
}

extension UncheckedWriter {
  /// A part of a connection's texts.
  @inline(__always)
  mutating func part(_ part: (start: UnsafeRawPointer, count: Int)) { padded(part.start, part.count) }
}

extension ECSWriter {
  /// The texts of the messages of `record`. They are kept with the record while `keeps`; else they last until the next ones.
  @inline(__always)
  func texts(_ record: ConnectionRegistry.Record, keeps: Bool) -> MessageTexts {
    if let known = record.pointee.texts { return known }
    return makeTexts(record, keeps: keeps)
  }

  @inline(never)
  private func makeTexts(_ record: ConnectionRegistry.Record, keeps: Bool) -> MessageTexts {
    let info = record.pointee.info
    var ends = InlineArray<13, UInt32>(repeating: 0)
    func end(_ part: MessageTexts.Part) { ends[part.rawValue] = UInt32(truncatingIfNeeded: scratch.writer.count) }
    func members(_ endpoint: Endpoint) {
      scratch.part()
      scratch.address("ip", endpoint.address)
      scratch.number("port", endpoint.port)
    }
    scratch.writer.removeAll()
    connectionID(info.serial, &scratch.writer)
    let uid = record.pointee.uid()
    if let uid {
      scratch.writer.literal("\",\"uid\":\"")
      scratch.writer.bytes(uid)
    }
    end(.connection)
    streamPrefix(record, .clientToServer, &scratch.writer)
    end(.fromClient)
    streamPrefix(record, .serverToClient, &scratch.writer)
    end(.fromServer)
    members(info.peer)
    end(.peer)
    members(info.server)
    end(.server)
    if info.peer != info.client || options.networks != nil || record.pointee.userName != nil {
      members(info.client)
      nat(info, &scratch)
      user(record, hasPlace: false, &scratch)
    }
    end(.client)
    if let id = record.pointee.communityID() {
      scratch.writer.literal(",\"community_id\":\"")
      scratch.writer.bytes(id)
      scratch.writer.byte(UInt8(ascii: "\""))
    }
    end(.community)
    if case .name = record.pointee.session {
      scratch.writer.byte(UInt8(ascii: ","))
      scratch.part()
      session(record.pointee.session, &scratch)
    }
    end(.session)
    scratch.writer.endpoint(info.client)
    end(.clientKey)
    scratch.writer.endpoint(info.server)
    end(.serverKey)
    if let name = network(of: record)?.name, !name.isEmpty {
      scratch.part()
      scratch.text("name", name)
    }
    end(.geo)
    if let owner = options.owners?.owner(of: info.serial, client: info.peer, server: info.server) {
      scratch.writer.byte(UInt8(ascii: ","))
      scratch.part()
      self.owner(owner, &scratch)
    }
    end(.owner)
    if options.otlp != nil {
      var session = ConnectionRecord.SessionLabel.none
      // A number comes with each message.
      if case .name = record.pointee.session { session = record.pointee.session }
      // Each id of a message begins with the UID.
      common(info, nil, info.plan, session: session, &scratch.writer)
    }
    end(.attributes)
    let start = scratch.writer.paddedBytes()
    let texts = MessageTexts(memory: start, ends: ends)
    guard keeps else { return texts }
    let kept = texts.copied()
    record.pointee.keep(kept)
    return kept
  }
}
