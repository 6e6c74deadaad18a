import IMEngine
import IMFields
import IMOutput
import IMRun
import IMStore
import IMWire

/// One frame whose bytes are known, decoded without the capture that it comes from.
///
/// The engine gets a connection of four packets made for it: an opening, and one segment that holds the frame and nothing else. What is
/// decoded counts only where it is the message that was meant: other bytes in its place, and a profile that needs to have seen more of the
/// connection, give none.
struct LoneFrame {
  private let place: StoredPlace
  private let direction: Direction
  private let plan: ProtocolPlan

  /// A frame of a message; `nil` where no profile of `plans` has decoded it, and where it may not tell alone what it says.
  init?(_ place: StoredPlace, _ direction: Direction, _ plans: [ProtocolPlan]) {
    // Of some protocols a frame says what the later ones mean, as the version in MQTT's CONNECT.
    guard let plan = plans.first(where: { $0.name == place.profile }), plan.fields?.remembers != true else {
      return nil
    }
    // A store may say any length.
    guard place.byteCount <= Self.maximumPayload else { return nil }
    (self.place, self.direction, self.plan) = (place, direction, plan)
  }

  /// The frame taken apart; `nil` where `bytes` are not the message's, or do not tell alone.
  func anatomy(_ bytes: [UInt8], _ decode: DecodeOptions) -> FrameDissection? {
    guard bytes.count == place.byteCount, bytes.count <= Self.maximumPayload else { return nil }
    var options = EngineOptions(plans: [plan])
    options.needs = .frames
    options.verifiesChecksums = false
    options.identities = decode.identities
    let port = place.server.split(separator: ":").last.flatMap { UInt16($0) } ?? 9
    options.ports = [port]
    let sink = Finder(place, direction, plan)
    var engine = Engine(options: options, sink: sink)
    let capture = packets(bytes, port)
    engine.process(capture.bytes.span.bytes, capture.records.span)
    engine.finish()
    return sink.found
  }

  /// Bytes that one IP packet has room for behind its headers.
  private static let maximumPayload = 65_535 - 40

  /// A connection of which one end says `payload`.
  private func packets(_ payload: [UInt8], _ port: UInt16) -> (bytes: [UInt8], records: [PacketRecord]) {
    var bytes: [UInt8] = []
    var records: [PacketRecord] = []
    func add(fromClient: Bool, _ flags: UInt8, _ sequence: UInt32, _ acknowledged: UInt32, _ payload: [UInt8] = []) {
      let (client, server): ([UInt8], [UInt8]) = ([10, 0, 0, 1], [10, 0, 0, 2])
      let ports: (UInt16, UInt16) = fromClient ? (Self.clientPort(port), port) : (port, Self.clientPort(port))
      let start = bytes.count
      // IPv4 without options, protocol 6; the checksums are not looked at.
      bytes += [0x45, 0] + Self.big(UInt16(40 + payload.count)) + [0, 0, 0x40, 0, 64, 6, 0, 0]
      bytes += fromClient ? client + server : server + client
      bytes += Self.big(ports.0) + Self.big(ports.1) + Self.big(sequence) + Self.big(acknowledged)
      bytes += [0x50, flags, 0xff, 0xff, 0, 0, 0, 0] + payload
      let length = UInt32(bytes.count - start)
      records.append(
        PacketRecord(
          timestamp: Timestamp(nanoseconds: Int64(records.count + 1) * 1_000_000), number: UInt64(records.count + 1),
          offset: UInt32(start), capturedLength: length, originalLength: length, linkType: Self.rawIP, interface: 0))
    }
    add(fromClient: true, 0x02, 1_000, 0)
    add(fromClient: false, 0x12, 2_000, 1_001)
    add(fromClient: true, 0x10, 1_001, 2_001)
    let isClients = direction == .clientToServer
    add(fromClient: isClients, 0x18, isClients ? 1_001 : 2_001, isClients ? 2_001 : 1_001, payload)
    bytes += [UInt8](repeating: 0, count: PacketRecord.slack)
    return (bytes, records)
  }

  /// LINKTYPE_RAW: packets begin with their IP header.
  private static let rawIP: UInt16 = 101
  private static func clientPort(_ server: UInt16) -> UInt16 { server == 40_000 ? 40_001 : 40_000 }
  private static func big<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    withUnsafeBytes(of: number.bigEndian) { Array($0) }
  }

  /// Takes the first frame apart, if it is the one.
  private final class Finder: EngineSink {
    private let place: StoredPlace
    private let direction: Direction
    private let plan: ProtocolPlan
    private(set) var found: FrameDissection?

    init(_ place: StoredPlace, _ direction: Direction, _ plan: ProtocolPlan) {
      (self.place, self.direction, self.plan) = (place, direction, plan)
    }

    func frame(
      _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
      body: RawSpan, tlvs: Span<TLVRef>
    ) {
      guard found == nil, frame.streamOffset == 0, direction == self.direction, place.isOf(frame, plan) else { return }
      var book = FieldReaderCache()
      found = FrameDissection(frame, connection, direction, plan, bytes: bytes, body: body, tlvs: tlvs, book: &book)
    }
  }
}

extension StoredPlace {
  /// Whether a frame is what the store says of this message.
  func isOf(_ frame: Frame, _ plan: ProtocolPlan) -> Bool {
    let index = Int(frame.kind.pointee.index)
    let name = index < plan.typeNames.count ? plan.typeNames[index] : "type_\(frame.type)"
    return frame.count == byteCount && frame.bodyCount == bodyCount && name == type
      && (frame.flags.contains(.sequence) ? "\(frame.sequence)" : nil) == sequence
  }
}
