import CPcap
import IMDescriptors

/// A filter expression in libpcap's language, compiled once per link type.
final class PacketFilter {
  /// A compiled program; it lives as long as its filter.
  struct Program {
    fileprivate let code: UnsafeMutablePointer<bpf_program>

    /// Whether the packet at `packet` passes.
    @inline(__always) func accepts(_ packet: UnsafeRawPointer, captured: UInt32, original: UInt32) -> Bool {
      bpf_filter(code.pointee.bf_insns, packet.assumingMemoryBound(to: u_char.self), original, captured) != 0
    }
  }

  private let expression: String
  private let subject: String
  private var programs: [UInt16: Program] = [:]

  /// A filter for the capture `subject`; nothing is compiled yet.
  init(_ expression: String, subject: String) {
    self.expression = expression
    self.subject = subject
  }

  deinit {
    for program in programs.values {
      pcap_freecode(program.code)
      program.code.deallocate()
    }
  }

  /// The program for packets of the stored link type `linkType`.
  func program(linkType: UInt16) throws(CaptureError) -> Program {
    if let program = programs[linkType] { return program }
    // With a snapshot length of 0 every program would answer "keep 0 bytes", which means no.
    guard let handle = pcap_open_dead(LinkType.library(fromStored: linkType), 262_144) else {
      throw CaptureError(.captureFailed, subject, "no memory for the filter")
    }
    defer { pcap_close(handle) }
    let code = UnsafeMutablePointer<bpf_program>.allocate(capacity: 1)
    code.initialize(to: bpf_program())
    guard pcap_compile(handle, code, expression, 1, UInt32.max) == 0 else {
      code.deallocate()
      throw .filter(subject, expression, String(cString: pcap_geterr(handle)))
    }
    let program = Program(code: code)
    programs[linkType] = program
    return program
  }
}

extension CaptureError {
  /// `expression` does not compile; `reason` in libpcap's words.
  static func filter(_ subject: String, _ expression: String, _ reason: String) -> CaptureError {
    CaptureError(.badFilter, subject, "filter \"\(expression)\": \(reason)")
  }
}
