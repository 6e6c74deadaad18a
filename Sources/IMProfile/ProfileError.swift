package import IMYAML

/// What is wrong with a profile, and where.
package typealias ProfileError = SourceError
