import Foundation
import IMTestSupport
import Testing

/// A profile that is the only one given is tried on any port, even in a capture with very few packets.
@Suite struct OnlyProfileTests {
  /// The first four packets of a sample's first connection, the server's port moved to 9999, where no profile is expected; once for each of
  /// so many clients, whose ports follow one another.
  private static func cut(_ sample: String, clients: Int = 1) throws -> [UInt8] {
    let bytes = try Samples.bytes(sample)
    var packets: [UInt8] = []
    for client in 0..<clients { packets += packetsOf(bytes, client: UInt16(client)) }
    return bytes.prefix(24) + packets
  }

  private static func packetsOf(_ bytes: [UInt8], client: UInt16) -> [UInt8] {
    var cut: [UInt8] = []
    var at = 24
    var ends: [UInt16] = []
    for _ in 0..<64 where at + 16 <= bytes.count && cut.count < 4_096 {
      let length = bytes[at + 8..<at + 12].reversed().reduce(0) { $0 << 8 | Int($1) }
      var packet = Array(bytes[at..<at + 16 + length])
      at += 16 + length
      // After the Ethernet and IPv4 headers.
      let tcp = 16 + 14 + Int(packet[16 + 14] & 15) * 4
      let ports = [tcp, tcp + 2].map { UInt16(packet[$0]) << 8 | UInt16(packet[$0 + 1]) }
      if ends.isEmpty { ends = ports }
      guard Set(ports) == Set(ends) else { continue }
      let (server, other) = ports[0] == ends[1] ? (tcp, tcp + 2) : (tcp + 2, tcp)
      (packet[server], packet[server + 1]) = (UInt8(9_999 >> 8), UInt8(9_999 & 255))
      let port = ends[0] &+ client
      (packet[other], packet[other + 1]) = (UInt8(port >> 8), UInt8(port & 255))
      cut += packet
      if packet.count > 16 + 74, ports[0] == ends[0] { break }
    }
    return cut
  }

  @Test(arguments: [("turms-chat.pcap", "turms"), ("sgip-gateway.pcap", "sgip"), ("cmpp-gateway.pcap", "cmpp")])
  func oneFrameOnAnyPort(_ sample: String, _ profile: String) throws {
    let folder = try Scratch()
    let path = try folder.file("cut.pcap", Self.cut(sample))
    let lines = try Command.run(["-q", "--print", "--no-checksum", "--profile", profile, path]).output
    #expect(lines.split(separator: "\n").count == 1 && lines.contains(": \(profile) "), "\(lines)")
    // The doubt is reported, and nothing is decoded unless a profile was given.
    let verdict = try Command.run(["why", "--no-checksum", "--profile", profile, path]).output
    let words = verdict.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: " ")
    #expect(words.contains("1 frame decoded as \(profile) on port 9999, which the profile does not name"), "\(verdict)")
    #expect(try Command.run(["-q", "--print", "--no-checksum", path]).output.isEmpty)
  }

  /// What is decoded of a connection does not depend on how many others there are.
  @Test func everyConnectionIsTried() throws {
    let folder = try Scratch()
    let path = try folder.file("cut.pcap", Self.cut("turms-chat.pcap", clients: 40))
    let lines = try Command.run(["-q", "--print", "--no-checksum", "--profile", "turms", path]).output
    #expect(lines.split(separator: "\n").count == 40, "\(lines)")
  }
}
