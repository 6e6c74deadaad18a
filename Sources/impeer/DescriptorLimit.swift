import Glibc

/// Raises the limit of open descriptors to what the system allows this process: each connection takes one.
func raiseDescriptorLimit() {
  var limit = rlimit()
  let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
  guard getrlimit(resource, &limit) == 0, limit.rlim_cur < limit.rlim_max else { return }
  limit.rlim_cur = limit.rlim_max
  _ = setrlimit(resource, &limit)
}
