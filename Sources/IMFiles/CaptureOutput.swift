import CSandbox
import Glibc
package import IMCapture
package import IMDescriptors
import IMMetrics
import IMOutput
package import IMRun
package import IMSystem
package import IMWire

/// The capture files of `-w`: one, or one after another.
///
/// The folder is opened at once, and every later file by its name in that folder, following no link: so neither the rights
/// that the run gives up nor a folder that is moved or a link that is laid in the way change where files are made. Every
/// file is whole: a header, and records of whole packets.
package final class CaptureOutput {
  /// Nanoseconds that the clock must be past a period's end, before it is ended without a packet: packets of before may
  /// still stand in the kernel's buffer.
  private static var patience: Int64 { 1_000_000_000 }
  /// Seconds after which a live run writes what waits.
  package static var flushTime: Double { 0.5 }

  private let path: String
  private let rotation: RotationOptions
  private let form: CaptureWriter.Form
  private var names: FileNames
  private var writer: CaptureWriter?
  private var linkType: UInt16 = 0
  /// The folder, where files are made in it; its name, as messages have it, and that of the open file.
  private var folder: Int32?
  private var folderName = ""
  /// The file that is to be written, before its header can be.
  private var prepared: Int32?
  /// What opens further files, where this process may not.
  package private(set) var outputBroker: OutputBroker?
  private var name = ""
  /// The number of the file within its period.
  private var number = 0
  /// Periods that are over.
  private var periodCount = 0
  private var period: Int64 = .min
  /// What names in this period tell, in seconds since 1970.
  private var second: Int64 = 0
  /// When the period ends, in nanoseconds since 1970.
  private var periodEnd = Int64.max
  /// Told where each packet stands.
  package var written: WrittenPackets?

  /// Files of `form` at `path`, `-` for standard output. Throws where the folder cannot be opened, or the name is none.
  package init(path: String, rotation: RotationOptions, form: CaptureWriter.Form = .pcap) throws(CaptureError) {
    self.path = path
    self.form = form
    self.rotation = rotation
    let slash = path.lastIndex(of: "/")
    names = FileNames(String(slash.map { path[path.index(after: $0)...] } ?? path[...]), rotation)
    guard rotation.isOn else { return }
    if names.name(0, at: 0) == nil {
      throw CaptureError(.ioError, path, "is not a file name, or its format yields none")
    }
    try openFolder(slash.map { String(path[...$0]) } ?? "")
  }

  deinit {
    if let prepared { _ = Glibc.close(prepared) }
    if let folder { _ = Glibc.close(folder) }
  }

  /// Whether a file is open.
  package var isOpen: Bool { writer != nil }
  /// Whether the file can be opened again under its name: it is no pipe, and not standard output.
  package var canReopen: Bool { folder != nil }
  /// The folder, where this process makes the further files itself.
  package var ownFolder: Int32? { outputBroker == nil ? folder : nil }
  /// Whether the first file can only be named when the first packet is there.
  package var needsTime: Bool { rotation.seconds != nil }

  /// Opens the first file, for packets of one link type; `time` is what its name tells.
  package func open(_ linkType: UInt16, at time: Timestamp) throws(CaptureError) {
    guard writer == nil else { return }
    self.linkType = linkType
    if rotation.isOn {
      second = time.nanoseconds / 1_000_000_000
      if let seconds = rotation.seconds {
        let found = ClockPeriods(seconds: seconds).period(at: second)
        period = found.number
        periodEnd = Self.nanoseconds(found.end)
      }
      return try openNext()
    }
    // Whatever the reason, it is output that cannot be written, and no input that is not there.
    try prepare()
    let isStandard = path == "-"
    let descriptor = isStandard ? STDOUT_FILENO : prepared ?? -1
    prepared = nil
    let made = CaptureWriter(
      descriptor: descriptor, isOwned: !isStandard, name: isStandard ? "standard output" : path, linkType: linkType,
      form: form)
    try begin(made)
    // What the path stands for, when it is a link.
    var status = stat()
    guard path != "-", fstat(made.descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
      let real = realpath(path, nil)
    else { return }
    defer { free(real) }
    let whole = String(cString: real)
    guard let slash = whole.lastIndex(of: "/") else { return }
    name = String(whole[whole.index(after: slash)...])
    names = FileNames(name, rotation)
    try? openFolder(String(whole[...slash]))
  }

  /// Opens the one file before it is known what will be in it, while this process may.
  package func prepare() throws(CaptureError) {
    guard !rotation.isOn, path != "-", prepared == nil, writer == nil else { return }
    prepared = try output { () throws(CaptureError) in try OutputFile.open(path) }
  }

  /// Gives the open file to the user that the run becomes, where further ones will be that user's too.
  package func give(to user: Sandbox.User) {
    guard rotation.isOn, let writer else { return }
    _ = fchown(writer.descriptor, user.uid, user.gid)
  }

  /// Lets `outputBroker` open further files if the user that the run switches to may not create them.
  package func use(_ outputBroker: OutputBroker) {
    guard let folder else { return }
    let isUsed = outputBroker.begin(
      folder: folder, formats: [names.template], isTimed: names.isTimed, digits: names.digits, count: names.count)
    if isUsed { self.outputBroker = outputBroker }
  }

  /// Throws where this process may not make the files that are to come.
  package func checkRights() throws(CaptureError) {
    guard rotation.isOn, let folder = ownFolder, faccessat(folder, ".", W_OK | X_OK, 0) != 0 else { return }
    let place = folderName.isEmpty ? "the folder" : folderName
    throw CaptureError(
      .ioError, path,
      "cannot create the next file: \(systemText(errno)) for user \(geteuid()) in \(place); give it to that user, or choose another user with -Z",
      errno: errno)
  }

  /// Writes packets, with what `comment` says of each. Returns how many belong to this run: fewer than all when `-W` has ended
  /// it.
  package func write(
    _ records: Span<PacketRecord>, _ bytes: RawSpan, comment: ((PacketRecord) -> String?)? = nil
  ) throws(CaptureError) -> Int {
    for i in records.indices {
      let record = records[i]
      if writer == nil { try open(record.linkType, at: record.timestamp) }
      if rotation.isOn {
        if record.timestamp.nanoseconds >= periodEnd, try !turn(at: record.timestamp) { return i }
        if let limit = rotation.byteCount, let writer, writer.packetCount > 0, writer.byteCount > limit {
          number += 1
          if let count = rotation.fileCount, number >= count { number = 0 }
          try close()
          try openNext()
        }
      }
      guard let writer else { continue }
      let offset = writer.byteCount + writer.bytesBeforePacket
      try writer.write(record, bytes, comment: comment?(record))
      written?.add(record, at: offset)
    }
    return records.count
  }

  /// Writes TLS secrets, lines of a key log, before the packets that come next; where no file is open yet, they are dropped.
  package func write(secrets lines: [UInt8]) throws(CaptureError) { try writer?.write(secrets: lines) }

  /// Ends a period of which the clock says that it is over. Live only. Returns whether the run goes on.
  package func advance(to now: Timestamp) throws(CaptureError) -> Bool {
    guard writer != nil, rotation.seconds != nil, now.nanoseconds &- Self.patience >= periodEnd else { return true }
    return try turn(at: Timestamp(nanoseconds: now.nanoseconds &- Self.patience))
  }

  /// Opens the file again where its name now stands for another one, or none: it was renamed. Writing goes on in the old
  /// one, and that is said, where that cannot be.
  package func reopen() throws(CaptureError) {
    guard let writer, let folder else { return }
    try writer.flush()
    var mine = stat(), there = stat()
    guard fstat(writer.descriptor, &mine) == 0 else { return }
    var isSame: Bool { mine.st_ino == there.st_ino && mine.st_dev == there.st_dev }
    // This user may not be allowed to open the file that is there, which is then the one that root has opened.
    if fstatat(folder, name, &there, AT_SYMLINK_NOFOLLOW) == 0, isSame { return }
    let descriptor = openFile(folder, replaces: false)
    guard descriptor >= 0 else { return stay(reason(-descriptor)) }
    guard fstat(descriptor, &there) == 0, !isSame else {
      _ = Glibc.close(descriptor)
      return
    }
    // What stands in it is of before this run, or nothing.
    guard ftruncate(descriptor, 0) == 0 else {
      let number = errno
      _ = Glibc.close(descriptor)
      return stay(systemText(number))
    }
    try close()
    try begin(
      CaptureWriter(descriptor: descriptor, isOwned: true, name: folderName + name, linkType: linkType, form: form))
  }

  /// Writes all that waits.
  package func flush() throws(CaptureError) { try writer?.flush() }

  /// Closes the open file.
  package func close() throws(CaptureError) {
    defer { writer = nil }
    try writer?.close()
  }

  /// Forgets a file that cannot be written: closing it would try again, and fail again.
  package func abandon() { writer = nil }

  private func stay(_ reason: String) {
    logError("\(folderName)\(name): cannot reopen: \(reason); still writing to the file that had this name")
  }

  /// Ends the period that is open, unless `time` lies in it by the clock, which may have been set back an hour.
  private func turn(at time: Timestamp) throws(CaptureError) -> Bool {
    guard let seconds = rotation.seconds else { return true }
    let found = ClockPeriods(seconds: seconds).period(at: time.nanoseconds / 1_000_000_000)
    periodEnd = Self.nanoseconds(found.end)
    guard found.number > period else { return true }
    try close()
    periodCount += 1
    if rotation.byteCount == nil, let count = rotation.fileCount, periodCount >= count { return false }
    period = found.number
    number = 0
    second = found.start
    try openNext()
    return true
  }

  /// Makes the next file. One that stands there is taken away first, so that whoever reads it keeps it, and no link is
  /// followed.
  private func openNext() throws(CaptureError) {
    guard let folder, let next = names.name(number, at: second) else {
      throw CaptureError(.ioError, path, "its format yields no file name")
    }
    name = next
    let whole = folderName + next
    let descriptor = openFile(folder, replaces: true)
    guard descriptor >= 0 else {
      if descriptor == -ELOOP { throw CaptureError(.ioError, whole, "is not a file that can be replaced") }
      throw CaptureError(.ioError, whole, "create: \(reason(-descriptor))", errno: -descriptor)
    }
    try begin(CaptureWriter(descriptor: descriptor, isOwned: true, name: whole, linkType: linkType, form: form))
  }

  /// Writes the header at once: a file without one is no capture, whatever becomes of this run.
  private func begin(_ made: CaptureWriter) throws(CaptureError) {
    try made.flush()
    writer = made
    written?.begin(made.path)
  }

  private func openFolder(_ name: String) throws(CaptureError) {
    let descriptor = imdump_open_folder(name.isEmpty ? "." : name)
    guard descriptor >= 0 else {
      throw CaptureError(.ioError, path, "open the folder: \(systemText(-descriptor))", errno: -descriptor)
    }
    folder = descriptor
    folderName = name
  }

  /// Opens the file `name`: a new one, or that which has the name.  A descriptor, or the error's number, negative.
  private func openFile(_ folder: Int32, replaces: Bool) -> Int32 {
    if let outputBroker { return outputBroker.ask(replaces ? .replace : .open, number, at: second) }
    return replaces ? imdump_replace_file(folder, name) : imdump_open_file(folder, name)
  }

  private func reason(_ number: Int32) -> String { openingError(number, isAsked: outputBroker != nil) }

  private func output<T>(_ body: () throws(CaptureError) -> T) throws(CaptureError) -> T {
    do throws(CaptureError) { return try body() } catch {
      var error = error
      error.code = .ioError
      throw error
    }
  }

  private static func nanoseconds(_ seconds: Int64) -> Int64 {
    let (value, isTooLarge) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    return isTooLarge ? seconds < 0 ? .min : .max : value
  }
}
