package import IMOutput

/// How `imdump ladder` writes a ladder.
package enum LadderFormat: String, CaseIterable, Sendable {
  /// Lines to read.
  case text
  /// A drawing.
  case svg
}

/// Appends a ladder in a format: to what `imdump ladder` prints, or to a file that the browser saves. Lines have at most `width`
/// columns, if there is one.
package func drawLadder(
  _ ladder: Ladder, _ format: LadderFormat, isASCII: Bool, width: Int? = nil, to out: inout ByteWriter
) {
  switch format {
  case .text: LadderText(isASCII: isASCII, width: width).write(ladder, to: &out)
  case .svg: LadderSVG().file(ladder).withUnsafeBytes { out.raw($0) }
  }
}
