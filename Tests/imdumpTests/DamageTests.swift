import Foundation
import IMCapture
import IMDescriptors
import IMEngine
import IMProfile
import IMTestSupport
import IMWire
import Testing

/// Captures that were cut or changed somewhere: what stands in front of the damage comes out as if there were none, the
/// error has its place, and nothing takes long.
@Suite struct DamageTests {
  /// A frame as far as two runs are compared.
  struct Seen: Equatable {
    var number: UInt64
    var at: Int64
    var connection: UInt32
    var direction: UInt8
    var bytes: [UInt8]
  }

  private final class Heard: EngineSink {
    var frames: [Seen] = []
    func frame(
      _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
      body: RawSpan, tlvs: Span<TLVRef>
    ) {
      frames.append(
        Seen(
          number: frame.number, at: frame.timestamp.nanoseconds, connection: connection.serial,
          direction: direction.rawValue,
          bytes: bytes.withUnsafeBytes { [UInt8]($0[frame.start..<frame.start + frame.count]) }))
    }
  }

  /// Everything that a capture gave.
  struct Outcome {
    var frames: [Seen] = []
    /// How many frames were told when a packet had been taken, by packet.
    var framesBehind: [Int] = []
    /// Where each packet's record ends in the file; by the order of records in a pcap file.
    var packets: UInt64 = 0
    var error: CaptureError?
  }

  static let plans: [ProtocolPlan] = ["tjp", "mqtt"].compactMap { try? BuiltInProfiles.plan($0) }

  /// Runs a file as the command does; `stepwise` hands the engine one packet at a time and counts frames behind each.
  private static func run(_ path: String, stepwise: Bool = false) -> Outcome {
    var outcome = Outcome()
    let heard = Heard()
    var options = EngineOptions(plans: plans)
    options.needs = [.frames]
    options.exchangeCapacity = 4_096
    var engine = Engine(options: options, sink: heard)
    do throws(CaptureError) {
      let source = try CaptureFile(path: path)
      var isMore = true
      while isMore {
        isMore = try source.nextBatch { bytes, records in
          guard stepwise else { return engine.process(bytes, records) }
          for i in records.indices {
            engine.process(bytes, records.extracting(i..<i + 1))
            outcome.framesBehind.append(heard.frames.count)
          }
        }
      }
    } catch {
      outcome.error = error
    }
    engine.finish()
    outcome.frames = heard.frames
    outcome.packets = engine.totals.packets
    return outcome
  }

  /// A file whose bytes a test writes again and again.
  private struct Scratch {
    let path = "/dev/shm/imdump-damage-\(getpid())-\(UInt32.random(in: 0 ... .max))"
    func write(_ bytes: [UInt8]) {
      guard let file = fopen(path, "w") else { return }
      fwrite(bytes, 1, bytes.count, file)
      fclose(file)
    }
  }

  /// Twenty captures: each sample in four forms of the classic format; one of them also with every packet captured twice
  /// (4), and inside a tunnel (8).
  static let captures: [(name: String, form: Int)] = [
    "mqtt-mosquitto.pcap", "tjp-clean-chat.pcap", "tjp-damage.pcap", "tjp-ipv6-vlan.pcapng", "tjp-weak-network.pcap",
  ].flatMap { name in (name == "tjp-clean-chat.pcap" ? [0, 1, 2, 3, 4, 8, 12] : [0, 1, 2, 3]).map { (name, $0) } }

  /// The packets of a sample as a pcap file of one form, and where each record ends.
  private static func file(_ name: String, _ form: Int) throws -> (bytes: [UInt8], ends: [Int]) {
    var packets: [TimedPacket] = []
    let source = try CaptureFile(path: Samples.path(name))
    while try source.nextBatch({ bytes, records in
      for i in records.indices {
        let from = Int(records[i].offset)
        let packet = bytes.extracting(from..<from + Int(records[i].capturedLength)).withUnsafeBytes { [UInt8]($0) }
        packets.append(TimedPacket(timestamp: records[i].timestamp, bytes: packet, linkType: records[i].linkType))
      }
    }) {}
    // The longest are enough to be cut everywhere.
    packets = [TimedPacket](packets.prefix(form & 4 == 0 ? 150 : 75))
    if form & 8 != 0 {
      // GRE (RFC 2784) around whole frames of Ethernet.
      var builder = PacketBuilder()
      for i in packets.indices {
        packets[i].bytes = builder.packet(
          protocolNumber: 47, [0, 0, 0x65, 0x58] + packets[i].bytes, from: IPAddress(v4: 0x0a01_0101),
          to: IPAddress(v4: 0x0a01_0102))
      }
    }
    if form & 4 != 0 { packets = packets.flatMap { [$0, $0] } }
    var ends: [Int] = []
    var end = 24
    for packet in packets {
      end += 16 + packet.bytes.count
      ends.append(end)
    }
    return (CaptureBuilder(packets).pcap(nanoseconds: form & 1 == 1, bigEndian: form & 2 == 2), ends)
  }

  /// 11,500 seeded mutants in a long run, 92 else: one to four places of a file, from some place on, are changed.
  @Test(arguments: captures) func mutants(_ capture: (name: String, form: Int)) throws {
    let (bytes, ends) = try Self.file(capture.name, capture.form)
    let scratch = Scratch()
    defer { unlink(scratch.path) }
    scratch.write(bytes)
    let sound = Self.run(scratch.path, stepwise: true)
    #expect(sound.error == nil && sound.framesBehind.count == ends.count && !sound.frames.isEmpty)
    var random = SplitMix(state: UInt64(capture.name.utf8.count * 4 + capture.form))
    for round in 0..<(LongRun.isWanted ? 500 : 4) {
      var mutant = bytes
      let first = Int.random(in: 0..<bytes.count, using: &random)
      for step in 0..<Int.random(in: 1...4, using: &random) {
        let at = step == 0 ? first : Int.random(in: first..<mutant.count, using: &random)
        switch Int.random(in: 0..<5, using: &random) {
        case 0: mutant[at] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 1: mutant[at] = .random(in: 0...255, using: &random)
        case 2:
          for i in at..<min(mutant.count, at + 4) { mutant[i] = Bool.random(using: &random) ? 0xff : 0 }
        case 3: mutant.removeSubrange(at..<min(mutant.count, at + Int.random(in: 1...40, using: &random)))
        default: mutant.insert(contentsOf: [0, 0xff, 0x80, 0x7f].prefix(Int.random(in: 1...4, using: &random)), at: at)
        }
        if mutant.count <= first { break }
      }
      scratch.write(mutant)
      let begun = ContinuousClock.now
      let outcome = Self.run(scratch.path)
      #expect(ContinuousClock.now - begun < .seconds(5), "\(capture), round \(round)")
      // The header of the file belongs to every packet.
      guard first >= 24 else { continue }
      let whole = ends.firstIndex { $0 > first } ?? ends.count
      let expected = whole == 0 ? 0 : sound.framesBehind[whole - 1]
      #expect(
        outcome.frames.prefix(expected).elementsEqual(sound.frames.prefix(expected)), "\(capture), round \(round)")
      if let error = outcome.error {
        #expect(error.offset.map { $0 <= UInt64(mutant.count) } == true, "\(error)")
        #expect([.damaged, .truncated, .notACapture, .unsupported].contains(error.code), "\(error)")
      }
    }
  }

  /// Cut at every place in a long run, at each 611th else: the packets that are whole come out, and the place is told.
  @Test(arguments: captures) func truncated(_ capture: (name: String, form: Int)) throws {
    let (bytes, ends) = try Self.file(capture.name, capture.form)
    let scratch = Scratch()
    defer { unlink(scratch.path) }
    scratch.write(bytes)
    let sound = Self.run(scratch.path, stepwise: true)
    var whole = 0
    for count in stride(from: 0, to: bytes.count, by: LongRun.isWanted ? 1 : 611) {
      while whole < ends.count, ends[whole] <= count { whole += 1 }
      scratch.write([UInt8](bytes.prefix(count)))
      let outcome = Self.run(scratch.path)
      #expect(outcome.packets == UInt64(whole), "\(capture), \(count) bytes")
      let expected = whole == 0 ? 0 : sound.framesBehind[whole - 1]
      #expect(
        outcome.frames.prefix(expected).elementsEqual(sound.frames.prefix(expected)), "\(capture), \(count) bytes")
      let isWhole = count == 24 || whole > 0 && ends[whole - 1] == count
      #expect((outcome.error == nil) == isWhole, "\(capture), \(count) bytes: \(String(describing: outcome.error))")
      guard let error = outcome.error, count >= 24 else { continue }
      #expect(error.code == .truncated)
      #expect(error.offset == UInt64(whole == 0 ? 24 : ends[whole - 1]), "\(capture), \(count) bytes")
    }
  }
}

/// SplitMix64, so that a seed gives the same run everywhere.
struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var z = state
    z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
    return z ^ (z >> 31)
  }
}
