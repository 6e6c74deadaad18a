import Glibc
import IMDocuments
import IMOutput
import IMYAML

/// The forms in which the fields of documents are printed.
package enum SchemaForm: Sendable {
  /// A line for each.
  case table
  /// One object.
  case json
  /// A JSON Schema.
  case jsonSchema
}

/// Prints the fields of documents: `imdump schema`.
package func printSchema(_ form: SchemaForm) -> ExitStatus {
  switch form {
  case .table: printText(SchemaList.table())
  case .json: printText(SchemaList.json())
  case .jsonSchema: printText(JSONSchema.text())
  }
}

/// Says what is different from the fields that the file `path` lists: `imdump schema diff`. A difference that breaks what
/// is stored or asked has a status of its own.
package func compareSchema(to path: String) throws(UsageError) -> ExitStatus {
  let difference: SchemaDifference
  do throws(SourceError) {
    difference = try SchemaDifference(from: readSource(path, subject: "list of fields"), source: path)
  } catch {
    throw UsageError(message: error.description)
  }
  let status = printText(difference.text)
  return status == .success && difference.isBreaking ? .fired : status
}

/// Writes the templates for Elasticsearch into the folder `path`, which is made where there is none, and names them.
package func writeTemplates(_ path: String, isTimeSeries: Bool) -> ExitStatus {
  if mkdir(path, 0o755) != 0, errno != EEXIST { return fail(path) }
  var names = ""
  for (name, text) in IndexTemplates.files(isTimeSeries: isTimeSeries) {
    let whole = path.hasSuffix("/") ? path + name : "\(path)/\(name)"
    let descriptor = open(whole, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { return fail(whole) }
    let output = Output(descriptor: descriptor, name: whole)
    var out = ByteWriter()
    out.text(text)
    output.drain(&out)
    // What a disk has no room for some tell when the file is closed.
    let isClosed = close(descriptor) == 0
    if let error = output.error {
      complain(error.description)
      return .ioError
    }
    guard isClosed else { return fail(whole) }
    names += shown(whole) + "\n"
  }
  return printText(names)
}

private func fail(_ path: String) -> ExitStatus {
  complain("\(path): \(systemText(errno))")
  return .ioError
}
