import IMEngine
import IMEngineTestSupport
import IMOutput
import IMTestSupport
import IMWire
import Testing

/// Whether two captures decode to the same messages.
@Suite struct CaptureFingerprintTests {
  private func run(_ packets: [TimedPacket], _ fingerprint: CaptureFingerprint) {
    var options = EngineOptions(plans: [MadePlan.tjp()])
    options.needs = CaptureFingerprint.needs
    var engine = Engine(options: options, sink: fingerprint)
    let batch = CaptureBuilder(packets).batch()
    engine.process(batch.bytes.span.bytes, batch.records.span)
    engine.finish()
  }

  @Test(arguments: ["tjp-clean-chat.pcap", "tjp-weak-network.pcap"])
  func aCaptureHasItsOwnMessages(_ sample: String) throws {
    let packets = try Samples.packets(sample)
    let fingerprint = CaptureFingerprint()
    run(packets, fingerprint)
    #expect(fingerprint.count > 0 && fingerprint.missing == fingerprint.count)
    fingerprint.beginOther()
    run(packets, fingerprint)
    #expect(fingerprint.missing == 0 && fingerprint.added == 0)
  }

  /// Without a packet that carries bytes, or with another byte in one, some message is another; at another time, where the packet ends
  /// a frame.
  @Test func anyOtherCaptureHasOthers() throws {
    let packets = try Samples.packets("tjp-clean-chat.pcap")
    let full = packets.indices.filter { packets[$0].bytes.count > 150 }
    var shifted = 0
    for place in full.prefix(40) {
      var lacking = packets, changed = packets, later = packets
      lacking.remove(at: place)
      changed[place].bytes[packets[place].bytes.count - 1] ^= 1
      later[place].timestamp = later[place].timestamp.advanced(by: .microseconds(1))
      for (number, other) in [lacking, changed, later].enumerated() {
        let fingerprint = CaptureFingerprint()
        run(packets, fingerprint)
        fingerprint.beginOther()
        run(other, fingerprint)
        if number < 2 { #expect(fingerprint.missing > 0) } else if fingerprint.missing > 0 { shifted += 1 }
      }
    }
    #expect(shifted > 0)
  }
}
