import IMTLS
import Testing

@Suite struct KeyTableTests {}
