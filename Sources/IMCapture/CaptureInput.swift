import Glibc
import IMDescriptors

/// The bytes of a capture: those of a file, or of the gzip members in it.
struct CaptureInput: ~Copyable {
  private var file: FileInput
  private var inflater: Inflater?
  /// Bytes of the file that were read and not yet used: [first, last).
  private let pending: UnsafeMutableRawBufferPointer
  private var first = 0
  private var last = 0
  private var isInsideMember = false
  private var isBroken = false
  private var hasEnded = false

  /// Opens `path` (`-` is standard input) and looks whether it is packed. A read asks for `step` bytes at most.
  static func open(
    path: String, stop: ShutdownSignal, step: Int = FileInput.step, opener: CaptureOpener = .system
  ) throws(CaptureError) -> CaptureInput {
    var input = CaptureInput(try FileInput(path: path, stop: stop, step: step, opener: opener), step: step)
    try input.detectPacking()
    return input
  }

  private init(_ file: consuming FileInput, step: Int) {
    self.file = file
    pending = .allocate(byteCount: min(max(step, 4_096), FileInput.step), alignment: 16)
    inflater = nil
  }

  private mutating func detectPacking() throws(CaptureError) {
    while last < 2 {
      let count = try file.read(into: UnsafeMutableRawBufferPointer(rebasing: pending[last...]))
      if count == 0 { return }
      last += count
    }
    guard pending[0] == 0x1f, pending[1] == 0x8b else { return }
    inflater = Inflater()
    if inflater == nil { throw .system(file.path, "unpack", ENOMEM) }
  }

  deinit { pending.deallocate() }

  /// Whether it is a regular file.
  var isRegular: Bool { file.isRegular }

  /// See `FileInput.closesBetweenReads`.
  mutating func closesBetweenReads() { file.closesBetweenReads() }

  /// Whether the file is packed.
  var isPacked: Bool { inflater != nil }

  /// Puts the next bytes into `target`; 0 at the end.
  ///
  /// Throws `.truncated` when a gzip member is cut and `.damaged` when it is broken, both with the offset in the packed
  /// file; all bytes before were given.
  mutating func read(into target: UnsafeMutableRawBufferPointer) throws(CaptureError) -> Int {
    if inflater != nil { return try readPacked(into: target) }
    guard first == last else {
      let count = min(target.count, last - first)
      target.copyMemory(from: UnsafeRawBufferPointer(rebasing: pending[first..<first + count]))
      first += count
      return count
    }
    return try file.read(into: target)
  }

  private mutating func readPacked(into target: UnsafeMutableRawBufferPointer) throws(CaptureError) -> Int {
    while !hasEnded {
      if isBroken { throw damaged("gzip data damaged near offset \(position) of the compressed file") }
      if !isInsideMember {
        guard try startMember() else { return 0 }
      }
      if first == last {
        guard try refill() else {
          hasEnded = true
          throw CaptureError(
            .truncated, file.path, "gzip data cut at offset \(file.position) of the compressed file",
            offset: file.position)
        }
      }
      let packed = UnsafeRawBufferPointer(rebasing: pending[first..<last])
      guard let progress = inflater?.inflate(packed, into: target) else { break }
      first += progress.taken
      // What was made before the damage comes first; the next call tells of it.
      isBroken = progress.isDamaged
      if progress.memberEnded {
        isInsideMember = false
        inflater?.restart()
      }
      if progress.made > 0 { return progress.made }
    }
    return 0
  }

  /// Steps over zero bytes between members, as gzip(1) does; false at the end of the file.
  private mutating func startMember() throws(CaptureError) -> Bool {
    while true {
      while first < last, pending[first] == 0 { first += 1 }
      if first < last { break }
      guard try refill() else {
        hasEnded = true
        return false
      }
    }
    guard pending[first] == 0x1f else {
      throw damaged("bytes that are not a gzip member at offset \(position) of the compressed file")
    }
    isInsideMember = true
    return true
  }

  /// Where the next unused byte stands in the file.
  private var position: UInt64 { file.position &- UInt64(last - first) }

  private mutating func damaged(_ message: String) -> CaptureError {
    hasEnded = true
    return CaptureError(.damaged, file.path, message, offset: position)
  }

  private mutating func refill() throws(CaptureError) -> Bool {
    first = 0
    last = 0
    last = try file.read(into: pending)
    return last > 0
  }
}
