import Glibc
package import IMYAML

/// A file of a live run that is read again when SIGHUP says so.
///
/// Nothing is needed for that but the right to read it, which the user that root becomes may lack: what a descriptor
/// that was opened before still shows is read then, and where the file was replaced, so that this is not it any more, it is
/// said what is missing.
package final class ReloadableFile {
  /// Its path.
  package let path: String
  /// As it was opened at the beginning, by who the process was then; negative where it was not.
  private let descriptor: Int32

  /// The file at `path`, which is opened.
  package init(_ path: String) {
    self.path = path
    descriptor = open(path, O_RDONLY | O_CLOEXEC)
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// What the file says now. `subject` names it in errors.
  package func text(_ subject: String) throws(SourceError) -> String {
    do throws(SourceError) { return try readSource(path, subject: subject) } catch {
      var now = stat()
      var before = stat()
      let isThere = stat(path, &now) == 0
      let isSame =
        isThere && descriptor >= 0 && fstat(descriptor, &before) == 0
        && now.st_ino == before.st_ino && now.st_dev == before.st_dev
      if isSame, lseek(descriptor, 0, SEEK_SET) == 0 { return try readSource(descriptor, path, subject: subject) }
      guard geteuid() != 0, let user = getpwuid(geteuid()) else { throw error }
      var told = error
      told.message +=
        " for user \(String(cString: user.pointee.pw_name)), who must be able to read it so that it can be reloaded"
      throw told
    }
  }
}
