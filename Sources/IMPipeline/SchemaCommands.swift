import Glibc
package import IMDelivery
import IMDescriptors
import IMDocuments
import IMEngine
import IMFields
import IMOutput
import IMProfile
import IMRun
package import IMSystem
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

/// The fields of documents: those of every run, those that `profiles` log, and the named fields `logged` of the profiles in use.
package struct SchemaFields {
  fileprivate let all: [ECSField]

  /// Throws where a profile cannot be read, or none has one of the fields.
  package init(profiles: [String], logged: [String]) throws(UsageError) {
    // The built-in profiles log nothing by themselves, and are not read for that.
    guard !profiles.isEmpty || !logged.isEmpty else {
      all = ECSFields.listed
      return
    }
    let plans: [ProtocolPlan]
    do throws(ProfileError) { plans = try loadProfiles(profileNames(profiles)) } catch {
      throw UsageError(message: error.description)
    }
    try checkLoggedFields(logged, plans)
    all = LoggedFields.declared(plans.compactMap { LoggedFields($0, names: logged) })
  }
}

/// Refuses names of fields that documents cannot have.
func checkLoggedFields(_ names: [String], _ plans: [ProtocolPlan]) throws(UsageError) {
  for name in names {
    var isKnown = false
    for plan in plans {
      guard let fields = plan.fields else { continue }
      for (id, info) in fields.fields.enumerated()
      where info.isShown && (info.name == name || "\(plan.name).\(info.name)" == name) {
        isKnown = true
        if fields.hides(id) {
          throw UsageError(
            message: "--log-field: '\(name)' of \(plan.name) is hidden and cannot be logged, not even as a hash")
        }
        if info.type == .object {
          throw UsageError(message: "--log-field: '\(name)' of \(plan.name) is a group: name the fields in it")
        }
      }
    }
    if !isKnown {
      throw UsageError(
        message: "--log-field: no profile in use has a field '\(shown(name))'; 'imdump fields' lists them")
    }
  }
}

/// Prints the fields of documents: `imdump schema`.
package func printSchema(_ fields: SchemaFields, _ form: SchemaForm) -> ExitStatus {
  switch form {
  case .table: printText(SchemaList.table(fields.all))
  case .json: printText(SchemaList.json(fields.all))
  case .jsonSchema: printText(JSONSchema.text(fields.all.filter { !$0.datasets.isEmpty }))
  }
}

/// Says what is different from the fields that the file `path` lists: `imdump schema diff`. A difference that breaks what
/// is stored or asked has a status of its own.
package func compareSchema(_ fields: SchemaFields, to path: String) throws(UsageError) -> ExitStatus {
  let difference: SchemaDifference
  do throws(SourceError) {
    difference = try SchemaDifference(from: readSource(path, subject: "list of fields"), source: path, to: fields.all)
  } catch {
    throw UsageError(message: error.description)
  }
  let status = printText(difference.text)
  return status == .success && difference.isBreaking ? .fired : status
}

/// Writes the templates for an engine into the folder `path`, which is made where there is none, and names them.
package func writeTemplates(
  _ fields: SchemaFields, _ path: String, for engine: ShipEngine = .elasticsearch, isTimeSeries: Bool
) -> ExitStatus {
  if mkdir(path, 0o755) != 0, errno != EEXIST { return fail(path) }
  var names = ""
  let target: IndexTemplates.Engine = engine == .opensearch ? .opensearch : .elasticsearch
  for (name, text) in IndexTemplates.files(
    fields.all.filter { !$0.datasets.isEmpty }, for: target, isTimeSeries: isTimeSeries)
  {
    let whole = path.hasSuffix("/") ? path + name : "\(path)/\(name)"
    let descriptor: Int32
    do throws(CaptureError) { descriptor = try OutputFile.open(whole, mode: 0o644) } catch {
      logError(error.description)
      return .ioError
    }
    let output = Output(descriptor: descriptor, name: whole)
    var out = ByteWriter()
    out.text(text)
    output.drain(&out)
    // What a disk has no room for some tell when the file is closed.
    let isClosed = close(descriptor) == 0
    if let error = output.error {
      logError(error.description)
      return .ioError
    }
    guard isClosed else { return fail(whole) }
    names += shown(whole) + "\n"
  }
  return printText(names)
}

private func fail(_ path: String) -> ExitStatus {
  logError("\(path): \(systemText(errno))")
  return .ioError
}
