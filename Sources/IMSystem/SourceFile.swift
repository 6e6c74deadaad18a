import Glibc
import IMDescriptors
package import IMYAML

/// The text of a file that a person wrote, read up to the maximum length only.
package func readSource(
  _ path: String, subject: String, maximumBytes: Int = YAMLReader.maximumBytes
) throws(SourceError) -> String {
  let descriptor = InputFile.open(path)
  guard descriptor >= 0 else { throw SourceError(source: path, message: systemText(-descriptor)) }
  defer { close(descriptor) }
  // A file that is held open may have been read before.
  lseek(descriptor, 0, SEEK_SET)
  return try readSource(descriptor, path, subject: subject, maximumBytes: maximumBytes)
}

/// The text of an open file with the path `path`.
package func readSource(
  _ descriptor: Int32, _ path: String, subject: String, maximumBytes: Int = YAMLReader.maximumBytes
) throws(SourceError) -> String {
  var bytes: [UInt8] = []
  var chunk = [UInt8](repeating: 0, count: 65_536)
  while bytes.count <= maximumBytes {
    let n = read(descriptor, &chunk, chunk.count)
    if n < 0, errno == EINTR { continue }
    if n < 0, errno == EAGAIN, !ShutdownSignal.ofProcess.isStopped {
      var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      poll(&request, 1, 100)
      continue
    }
    guard n >= 0 else { throw SourceError(source: path, message: systemText(errno)) }
    if n == 0 { break }
    bytes += chunk[..<n]
  }
  guard let text = String(validating: bytes, as: UTF8.self) else {
    throw SourceError(source: path, message: "the \(subject) is not UTF-8")
  }
  return text
}
