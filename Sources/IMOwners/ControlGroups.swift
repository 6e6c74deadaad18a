import Glibc

/// The paths of the control groups of version 2, by their numbers, which are the inode numbers of their folders.
///
/// The folders are walked when a number is asked for that is not known, and no sooner again than after a hundred times as
/// long as the walk took: a host whose groups come and go costs a hundredth of a processor at most.
struct ControlGroups {
  /// Folders that are walked, and how deep.
  private static let maximumCount = 50_000, maximumDepth = 32
  /// Nanoseconds between walks, at least.
  private static let patience: UInt64 = 1_000_000_000

  private let root: String
  private var paths: [UInt64: String] = [:]
  private var next: UInt64 = 0

  /// The groups below the folder `root`; without one, where this process sees them mounted. `nil` where there are none.
  init?(root: String? = nil) {
    guard let root = root ?? Self.mountPoint() else { return nil }
    self.root = root
  }

  /// Where version 2 is mounted: `... - cgroup2 ...` in mountinfo, whose fifth word is the place.
  private static func mountPoint() -> String? {
    guard let file = fopen("/proc/self/mountinfo", "re") else { return nil }
    defer { fclose(file) }
    var line: UnsafeMutablePointer<CChar>?
    var room = 0
    defer { free(line) }
    while getline(&line, &room, file) > 0, let start = line {
      let words = String(cString: start).split(separator: " ")
      guard let dash = words.firstIndex(of: "-"), dash + 1 < words.count, words[dash + 1] == "cgroup2", words.count > 4
      else { continue }
      return String(words[4])
    }
    return nil
  }

  /// The path of a group, from the root of the hierarchy.
  mutating func path(_ number: UInt64, now: UInt64) -> String? {
    if let known = paths[number] { return known }
    guard now >= next else { return nil }
    walk()
    var end = timespec()
    clock_gettime(CLOCK_MONOTONIC, &end)
    let cost = UInt64(max(0, end.tv_sec)) * 1_000_000_000 + UInt64(max(0, end.tv_nsec)) &- now
    next = now &+ max(Self.patience, cost < 1 << 40 ? 100 * cost : Self.patience)
    return paths[number]
  }

  private mutating func walk() {
    paths.removeAll(keepingCapacity: true)
    let descriptor = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    if descriptor >= 0 { walk(descriptor, "", depth: 0) }
  }

  /// Takes note of an open folder and of those in it, and closes it.
  private mutating func walk(_ folder: Int32, _ path: String, depth: Int) {
    guard let stream = fdopendir(folder) else {
      close(folder)
      return
    }
    defer { closedir(stream) }
    var status = stat()
    if fstat(folder, &status) == 0 { paths[UInt64(status.st_ino)] = path.isEmpty ? "/" : path }
    guard depth < Self.maximumDepth else { return }
    while paths.count < Self.maximumCount, let entry = readdir(stream) {
      guard entry.pointee.d_type == UInt8(DT_DIR) else { continue }
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      guard name != ".", name != ".." else { continue }
      let inner = openat(dirfd(stream), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
      if inner >= 0 { walk(inner, "\(path)/\(name)", depth: depth + 1) }
    }
  }
}
