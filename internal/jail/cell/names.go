package cell

// Names of the mechanisms.
const (
	nameNamespaces = "namespaces"
	nameView       = "mount view"
	nameLandlock   = "landlock"
	nameSeccomp    = "seccomp"
	nameProcesses  = "process limit"
)
