import Glibc
import IMDelivery
import IMShip

/// The files of a log folder that are whole, and what they take together: which of them goes when there is no more room.
struct KeptLogFiles {
  /// One file.
  struct File: Equatable {
    /// Its series, as `LogSeries.index`.
    var series: Int
    var number: Int
    var byteCount: UInt64
    /// Its lines, but for the first where all files of its series begin with it.
    var documents: UInt64
    /// Whether all files of its series begin with the same line.
    var hasHead = true
  }

  /// The oldest first.
  private var files: [File] = []
  /// Bytes of all of them.
  private(set) var byteCount: UInt64 = 0

  /// Adds one that is whole now.
  mutating func add(_ file: File) {
    files.append(file)
    byteCount += file.byteCount
  }

  /// Whether there are none.
  var isEmpty: Bool { files.isEmpty }

  /// Takes out the file of a series with this number, if it is there.
  mutating func remove(_ series: Int, _ number: Int) -> File? {
    guard let index = files.firstIndex(where: { $0.series == series && $0.number == number }) else { return nil }
    let file = files.remove(at: index)
    byteCount -= file.byteCount
    return file
  }

  /// Takes out the file that goes first: the oldest that was shipped whole, else the oldest.
  mutating func removeFirst(isShipped: (File) -> Bool) -> File? {
    guard let index = files.firstIndex(where: isShipped) ?? files.indices.first else { return nil }
    let file = files.remove(at: index)
    byteCount -= file.byteCount
    return file
  }
}

/// How far `imdump ship` has sent the files of a folder, as its state beside them says.
struct ShippedFiles {
  private let files: [String: ShipState.File]

  /// Reads the state in the folder that `handle` has open; `nil` where there is none that this process may read.
  init?(in handle: Int32) {
    let file = openat(handle, ".ship/state", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard file >= 0 else { return nil }
    defer { close(file) }
    guard let bytes = ShipStore.contents(file, limit: ShipState.maximumBytes), let state = ShipState(bytes) else {
      return nil
    }
    files = Dictionary(state.files.map { ($0.name, $0) }, uniquingKeysWith: { $0.offset < $1.offset ? $1 : $0 })
  }

  /// Whether all of a file of so many bytes was sent.
  func hasAll(of name: String, _ byteCount: UInt64) -> Bool { files[name].map { $0.offset >= byteCount } ?? false }

  /// Documents of a file that are neither sent nor in the memory of `imdump ship`, which sends them even if the file is removed.
  func unsent(of name: String, _ file: KeptLogFiles.File) -> UInt64 {
    let taken = files[name].map { $0.lines &+ $0.held } ?? 0
    let documents = taken - (file.hasHead ? min(1, taken) : 0)
    return file.documents - min(file.documents, documents)
  }
}
