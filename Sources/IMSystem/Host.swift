import Glibc

/// The host's name.
package func hostName() -> String {
  var name = [CChar](repeating: 0, count: 256)
  guard gethostname(&name, name.count - 1) == 0 else { return "unknown" }
  return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

/// The beginning of a kernel file, up to 4 KiB.
package func smallFile(_ path: String) -> String? {
  let file = open(path, O_RDONLY | O_CLOEXEC)
  guard file >= 0 else { return nil }
  defer { close(file) }
  var bytes = [UInt8](repeating: 0, count: 4_096)
  let count = read(file, &bytes, bytes.count)
  return count < 0 ? nil : String(decoding: bytes.prefix(count), as: UTF8.self)
}

/// The set in the line `CapEff` of /proc/PID/status.
package func effectiveCapabilities(_ status: String?) -> UInt64? {
  status?.split(separator: "\n").first { $0.hasPrefix("CapEff:") }.flatMap { line in
    UInt64(line.dropFirst(7).filter { $0 != "\t" && $0 != " " }, radix: 16)
  }
}
