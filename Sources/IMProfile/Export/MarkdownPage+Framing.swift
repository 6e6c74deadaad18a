import IMContent
import IMEngine

/// Frames that end at a delimiter, and checksums of all kinds.
extension MarkdownPage {
  /// What stands between frames.
  func framing() -> String {
    let framing = draft.plan.framing
    switch framing.kind {
    case .delimited: break
    case .message: return "are messages of WebSocket, or records in them"
    case .terminated: return "end at bytes that do not occur inside"
    case .headers: return "are header lines and a body"
    case .resp: return "are values of RESP"
    case .pairs: return "are pairs of a number and a value, the second of which has their length"
    case .xml: return "are XML elements, and the tags of the element that holds them"
    case .counted: return "have a length\(draft.general?.content.map { ", and \($0.kind.name) inside" } ?? "")"
    case .length, .line: return "lines"
    }
    func byte(_ value: some BinaryInteger) -> String { "`\(Self.hex(UInt64(value), count: 2))`" }
    var out = "end at a byte \(byte(framing.delimiter)), and may begin with one"
    guard framing.escapes else { return out }
    if framing.replacementCount == 0 {
      out += "; after \(byte(framing.escape)) a byte is exclusive-or'ed with \(byte(framing.escapeMask))"
    } else {
      let pairs = (0..<UInt32(framing.replacementCount)).map {
        "\(byte(framing.escape)) \(byte(framing.written >> ($0 * 8) & 255)) stands for \(byte(framing.meant >> ($0 * 8) & 255))"
      }
      out += "; \(pairs.joined(separator: ", "))"
    }
    return out
  }

  /// A checksum that is not the usual one, or none at all.
  func generalChecksum() -> String {
    let plan = draft.plan.framing.checksum
    guard plan.isPresent else { return "none" }
    let covers =
      plan.coversBody
      ? "the body" : plan.from == 0 ? "header and body" : "everything from byte \(plan.from) on up to the trailer"
    let order =
      draft.plan.checksumEitherOrder
      ? "in either byte order"
      : (plan.isInTrailer ? plan.littleEndian : draft.plan.checksum.littleEndian) ? "little endian" : "big endian"
    let place = plan.isInTrailer ? "in the trailer" : "in the header, where it counts as zeros"
    return "`\(plan.algorithm.name)` over \(covers), \(plan.algorithm.byteCount == 1 ? "" : order + ", ")\(place)"
  }

  /// Some bits of the header, in words.
  func bits(_ field: Field) -> String {
    let place =
      field.byteCount == 1
      ? "byte \(field.offset)" : "bytes \(field.offset) to \(Int(field.offset) + field.byteCount - 1)"
    return "\(place) & 0x\(Self.hex(field.mask, count: field.byteCount * 2))"
  }
}
