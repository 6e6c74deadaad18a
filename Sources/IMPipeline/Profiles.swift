import Glibc
import IMCapture
package import IMEngine
package import IMProfile
import IMYAML

/// The names that `names` stand for: `auto` is all those in use by default, and each counts once.
func profileNames(_ names: [String]) -> [String] {
  var seen: Set<String> = []
  return names.flatMap { $0 == "auto" ? BuiltInProfiles.usual : [$0] }.filter { seen.insert($0).inserted }
}

/// The names of all profiles that are built in.
package var builtInProfiles: [String] { BuiltInProfiles.names }

/// Compiles the profiles that were asked for; the usual built-in ones when none were.
package func loadProfiles(_ names: [String]) throws(ProfileError) -> [ProtocolPlan] {
  var plans: [ProtocolPlan] = []
  for name in names.isEmpty ? BuiltInProfiles.usual : names {
    if !isProfileFile(name) {
      plans.append(try BuiltInProfiles.plan(name))
    } else {
      plans.append(try ProfileCompiler.compile(readSource(name, subject: "profile"), source: name))
    }
  }
  var seen: Set<String> = []
  for plan in plans where !seen.insert(plan.name).inserted {
    throw ProfileError(source: plan.name, message: "two profiles have this name")
  }
  guard plans.count <= 64 else { throw ProfileError(source: "--profile", message: "at most 64 profiles at once") }
  return plans
}

/// Whether `--profile NAME` names a file, and not a profile that is built in.
func isProfileFile(_ name: String) -> Bool { name.contains("/") || name.hasSuffix(".yaml") || name.hasSuffix(".yml") }

/// The system's words for an error number, as they stand inside a sentence.
package func systemText(_ number: Int32) -> String {
  let words = String(cString: strerror(number))
  return words.prefix(1).lowercased() + words.dropFirst()
}

/// Drops the privileges that a command does not need that reads these files alone, and prints.
func confineReader(of paths: [String]) throws(SourceError) {
  InputFile.expect(paths)
  do throws(CaptureError) { try Sandbox.ofReader.enter(folders: [], mayWrite: false) } catch {
    throw SourceError(source: error.subject, message: error.message)
  }
}

/// The text of a file that a person wrote, which is read no further than it may be long.
func readSource(
  _ path: String, subject: String, maximumBytes: Int = YAMLReader.maximumBytes
) throws(SourceError) -> String {
  let descriptor = InputFile.open(path)
  guard descriptor >= 0 else { throw SourceError(source: path, message: systemText(-descriptor)) }
  defer { close(descriptor) }
  // One that is held open may have been read before.
  lseek(descriptor, 0, SEEK_SET)
  return try readSource(descriptor, path, subject: subject, maximumBytes: maximumBytes)
}

/// The same, of a descriptor of the file `path`.
func readSource(
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
