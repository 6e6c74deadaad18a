import IMDescriptors

/// Opens capture files for reading. Every file that is read as a capture is opened by one of these, so that a process that may not open
/// files any more can have them opened by another one.
package struct CaptureOpener: Sendable {
  /// Opens the file at a path with `O_RDONLY` and `O_CLOEXEC`: gives a descriptor that the caller closes, or a negative error number. It
  /// may be called more than once for a path.
  package let open: @Sendable (String) -> Int32

  /// An opener that calls `open`.
  package init(open: @escaping @Sendable (String) -> Int32) { self.open = open }

  /// Opens files by `InputFile`: with the rights of this process, or of the one that kept them.
  package static let system = CaptureOpener { InputFile.open($0) }
}
