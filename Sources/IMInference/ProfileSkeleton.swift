import IMContent
import IMEngine
import IMWire

/// Writes what was guessed of a protocol as a profile: what is certain as keys, each with the share of frames that agree;
/// what is not, as comments.
package struct ProfileSkeleton: SkeletonWriter {
  /// What decoding the capture with the page gave.
  package struct Outcome: Sendable {
    /// Frames and connections that were decoded, and connections that there are.
    package var frames: UInt64, connections: UInt64, allConnections: UInt64
    /// Bytes of the streams, and those that stand in no frame.
    package var bytes: UInt64, strayBytes: UInt64

    /// An outcome of its parts.
    package init(frames: UInt64, connections: UInt64, allConnections: UInt64, bytes: UInt64, strayBytes: UInt64) {
      self.frames = frames
      self.connections = connections
      self.allConnections = allConnections
      self.bytes = bytes
      self.strayBytes = strayBytes
    }
  }

  let guess: GuessedProtocol
  let proof: Proof
  var page: SkeletonPage

  /// How much types have to prove, where nothing else does: what few frames have in common may be chance, so no more of it
  /// is written than it takes to find all frames.
  package enum Proof: Int, CaseIterable, Sendable {
    /// Nothing.
    case none
    /// Flags that all frames of a type have; lengths as well; both also of types of which there is one frame.
    case flags, lengths, single
  }

  /// What may be tried, the least first: one, where the header proves enough.
  package static func proofs(_ guess: GuessedProtocol) -> [Proof] {
    let skeleton = ProfileSkeleton(guess: guess, name: "", ports: [], notes: [], proof: .none)
    return skeleton.isWeak ? Proof.allCases : [.none]
  }

  /// Why a framing cannot be written as a profile; `nil` where it can.
  package static func refusal(_ guess: GuessedProtocol) -> String? {
    if case .varint(let offset) = guess.framing.hypothesis, offset == 0 || offset > 7 {
      return "frames begin with a length of seven bits per byte, but nothing after it was found that tells their types"
    }
    if guess.kinds.isEmpty { return "no frame begins with a word that could be its type" }
    return nil
  }

  /// The page. `notes` are sentences for its head; `outcome` is what a first page gave.
  package static func text(
    _ guess: GuessedProtocol, name: String, ports: [UInt16], notes: [String], proof: Proof, outcome: Outcome?
  ) -> String {
    var skeleton = ProfileSkeleton(guess: guess, name: name, ports: ports, notes: notes, proof: proof)
    skeleton.write(outcome)
    return skeleton.page.text
  }

  private init(guess: GuessedProtocol, name: String, ports: [UInt16], notes: [String], proof: Proof) {
    self.proof = proof
    self.guess = guess
    page = SkeletonPage(name: name, ports: ports, notes: notes)
  }

  // MARK: Words

  static func share(_ share: GuessedProtocol.Share) -> String { Self.share(share.agree, share.of) }

  static func hex(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined()
  }

  static func hex(_ value: UInt64, _ digits: Int) -> String {
    let text = String(value, radix: 16, uppercase: true)
    return "0x" + String(repeating: "0", count: max(0, digits - text.count)) + text
  }

  static func place(_ place: NumberPlace, _ more: String = "") -> String {
    var text = "{ offset: \(place.offset), size: \(place.size)"
    if place.isLittleEndian { text += ", order: little" }
    if !place.isWhole { text += ", mask: \(hex(place.mask, place.size * 2))" }
    return text + more + " }"
  }

  // MARK: The page

  private mutating func write(_ outcome: Outcome?) {
    head(outcome)
    page.identify()
    framing()
    if isLine {
      line("fields:")
      line("  type: { word: 1 }")
    } else {
      header()
      length()
      trailer()
      if let content = guess.content {
        line(
          "content: \(content.shape.kind.name)",
          "ends exactly where the frame does in \(Self.share(content.closedCount, content.frameCount))")
        line()
      }
      fields()
      checksum()
      sequence()
    }
    line()
    types()
    acknowledgment()
    line()
    line(
      "",
      "Unknown: names, the purpose of messages (role), statuses, TLV lists, times for answers. See imdump-profile(5)."
    )
  }

  private mutating func head(_ outcome: Outcome?) {
    let framing = guess.framing
    page.introduce(frames: framing.frameCount, covered: framing.explainedCount, of: framing.byteCount)
    line(
      "",
      "\(Self.number(framing.hits)) of \(Self.number(framing.chances)) segments begin at a frame\(framing.errors > 0 ? "; at \(Self.number(framing.errors)) positions there was none" : "")."
    )
    if let held = guess.heldOut {
      let place = SkeletonPage.heldOut(held.connections)
      if held.isSameFraming {
        line(
          "",
          "Held out: repeated without \(place), the guess ends frames in the same way; it explains \(Self.number(held.explained)) of the"
        )
        line(
          "",
          "\(Self.number(held.bytes)) bytes that were left out, and \(Self.share(held.known, held.frames)) there have a type seen before."
        )
      } else {
        line("", "Held out: repeated without \(place), the guess ends frames in another way. Do not trust it.")
      }
    } else {
      line(
        "", "Too little data to hold some of it out: nothing here was checked against bytes that it was not made from.")
    }
    page.report(outcome)
  }
}
