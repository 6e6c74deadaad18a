import Glibc
import IMCapture
import IMDescriptors
import IMWire
import Synchronization

/// One packet as a test compares it.
struct Packet: Equatable {
  var number: UInt64
  var nanoseconds: Int64
  var bytes: [UInt8]
  var original: UInt32
  var linkType: UInt16 = 1
  var interface: UInt16 = 0
}

/// What a whole capture gave.
struct Reading: Equatable {
  var packets: [Packet] = []
  var error: CaptureError?
  var statistics = CaptureStatistics()
  var interfaces: [CaptureInterface] = []
}

/// Reads a source to its end and checks the promises every batch makes.
func read(_ source: any PacketSource, _ reading: inout Reading) {
  do throws(CaptureError) {
    var isMore = true
    while isMore {
      isMore = try source.nextBatch { bytes, records in
        for index in records.indices {
          let record = records[index]
          let first = Int(record.offset), last = first + Int(record.capturedLength)
          precondition(last + PacketRecord.slack <= bytes.byteCount, "slack")
          reading.packets.append(
            Packet(
              number: record.number, nanoseconds: record.timestamp.nanoseconds,
              bytes: bytes.extracting(first..<last).withUnsafeBytes { [UInt8]($0) }, original: record.originalLength,
              linkType: record.linkType, interface: record.interface))
        }
      }
    }
  } catch {
    reading.error = error
    let again = try? source.nextBatch { _, _ in reading.error = nil }
    precondition(again == false, "a source has ended after an error")
  }
  reading.statistics = source.statistics
  reading.interfaces = source.interfaces
}

/// Reads the capture at `path`.
func readFile(_ path: String, filter: String? = nil, steps: ReadingSteps = ReadingSteps()) -> Reading {
  var reading = Reading()
  do throws(CaptureError) {
    read(try CaptureFile(path: path, filter: filter, steps: steps), &reading)
  } catch {
    reading.error = error
  }
  return reading
}

/// Reads `bytes` from a file of its own.
func read(_ bytes: [UInt8], filter: String? = nil) -> Reading {
  withFile(bytes) { path in
    var reading = readFile(path, filter: filter)
    reading.error?.subject = "FILE"
    return reading
  }
}

private let counter = Atomic<Int>(0)

/// A path for a file of a test; the file is removed afterwards.
func withPath<T>(_ body: (String) throws -> T) rethrows -> T {
  let number = counter.add(1, ordering: .relaxed).newValue
  let path = "/tmp/imcapture-\(getpid())-\(number)"
  defer { unlink(path) }
  return try body(path)
}

/// A file with `bytes`.
func withFile<T>(_ bytes: [UInt8], _ body: (String) throws -> T) rethrows -> T {
  try withPath { path in
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    precondition(bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) } == bytes.count)
    close(descriptor)
    return try body(path)
  }
}

/// The bytes of a file.
func contents(_ path: String) -> [UInt8] {
  let descriptor = open(path, O_RDONLY)
  defer { close(descriptor) }
  var bytes: [UInt8] = []
  var chunk = [UInt8](repeating: 0, count: 65_536)
  while case let count = Glibc.read(descriptor, &chunk, chunk.count), count > 0 { bytes += chunk.prefix(count) }
  return bytes
}

/// Hands each packet of a capture in a file with these bytes to `take`.
func forEachPacket(
  of bytes: [UInt8], _ take: (PacketRecord, RawSpan, CaptureFile) throws(CaptureError) -> Void
) throws(CaptureError) {
  try withFile(bytes) { path -> Result<Void, CaptureError> in
    Result { () throws(CaptureError) in
      let source = try CaptureFile(path: path)
      var failure: CaptureError?
      while try source.nextBatch({ bytes, records in
        do throws(CaptureError) {
          for i in records.indices { try take(records[i], bytes, source) }
        } catch {
          failure = error
        }
      }) {}
      if let failure { throw failure }
    }
  }.get()
}
