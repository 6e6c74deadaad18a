import IMDescriptors

extension CaptureError {
  /// `subject` ends inside `element`, which starts at `offset`.
  static func cut(_ subject: String, in element: String, at offset: UInt64, wanted: Int, available: Int) -> CaptureError
  {
    CaptureError(
      .truncated, subject,
      "cut in \(element) at offset \(offset): \(wanted) bytes expected, \(available) available",
      offset: offset, wanted: UInt64(wanted), available: UInt64(available))
  }
}
