import IMEngine
import IMOutput

/// What is the same in the documents of all messages of a profile: texts that are made once for each profile, and are the
/// most of a document.
struct MessageForm: BitwiseCopyable {
  /// From the end of `server` on, for IPv4 and IPv6: `},"network":{"transport":"tcp","type":"ipv4","protocol":"tjp"`.
  let networks: InlineArray<2, Piece>
  /// By direction, up to the server's name: `,"direction":"inbound"},"imdump":{...,"endpoint":{"role":"server","key":"`.
  let owns: InlineArray<2, Piece>
  /// By the checksum's status: `,"checksum":{"algorithm":"crc32","status":"be"}`.
  let checksums: InlineArray<5, Piece>
  /// `,"version":"1"`, the version which the header's fixed bits name; empty where there are none.
  let version: Piece
  /// By `FrameKind.index`: `,"type":"data","type_id":0`, and the name alone.
  private let types: UnsafePointer<Piece>
  private let names: UnsafePointer<Piece>
  private let typeCount: Int
  private static let message = Piece("message")
  private static let nothing = Piece("")
  private let otherName = Self.message
  private let otherType = Self.nothing
  /// Whether frames carry their session's number.
  let hasSession: Bool
  /// Digits of a TLV's tag.
  let tagDigits: Int
  /// The most bytes that one document has of these texts.
  let room: Int

  /// The form of a profile's messages; `own` are the members of `imdump` that never change.
  init(_ profile: ECSWriter.Profile?, own: Piece, isLean: Bool) {
    func networks(_ type: String) -> Piece {
      Piece(
        "},\"network\":{\"transport\":\"tcp\",\"type\":\"\(type)\"" + (profile.map { ",\($0.networkMember)" } ?? ""))
    }
    self.networks = [networks("ipv4"), networks("ipv6")]
    func owns(_ direction: String) -> Piece {
      Piece(
        ",\"direction\":\"\(direction)\"},\"imdump\":{\(own)" + (profile.map { ",\($0.members)" } ?? "")
          + ",\"endpoint\":{\"role\":\"server\",\"key\":\"")
    }
    self.owns = [owns("inbound"), owns("outbound")]
    let algorithm = isLean ? "" : profile?.algorithm.map { "\($0)," } ?? ""
    let statuses = ChecksumStatus.allCases.map { Piece(",\"checksum\":{\(algorithm)\"status\":\"\($0.name)\"}") }
    checksums = [statuses[0], statuses[1], statuses[2], statuses[3], statuses[4]]
    version = Piece(profile?.version.map { ",\($0)" } ?? "")
    typeCount = profile?.typeMembers.count ?? 0
    let types = UnsafeMutablePointer<Piece>.allocate(capacity: max(1, typeCount))
    let names = UnsafeMutablePointer<Piece>.allocate(capacity: max(1, typeCount))
    for i in 0..<typeCount {
      (types + i).initialize(to: Piece(",\(profile?.typeMembers[i].description ?? "")"))
      (names + i).initialize(to: Piece(profile?.typeNames[i].description ?? ""))
    }
    self.types = UnsafePointer(types)
    self.names = UnsafePointer(names)
    hasSession = profile?.hasSession == true
    tagDigits = profile?.tagDigits ?? 4
    let longest = (0..<typeCount).map { types[$0].bytes.count + names[$0].bytes.count }.max() ?? 0
    room =
      self.networks[1].bytes.count + self.owns[1].bytes.count + version.bytes.count + longest
      + (statuses.map(\.bytes.count).max() ?? 0) + 64
  }

  /// Whether the profile has a name for a type.
  @inline(__always)
  func knows(_ kind: UInt8) -> Bool { Int(kind) < typeCount }
  /// The members that tell a type; nothing for one that the profile does not know.
  @inline(__always)
  func type(_ kind: UInt8) -> Piece { Int(kind) < typeCount ? types[Int(kind)] : otherType }
  /// The type's name.
  @inline(__always)
  func name(_ kind: UInt8) -> Piece { Int(kind) < typeCount ? names[Int(kind)] : otherName }
}
