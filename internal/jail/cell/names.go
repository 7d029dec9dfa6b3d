package cell

// Names of the mechanisms.
const (
	nameNamespaces = "namespaces"
	nameView       = "mount view"
	nameLandlock   = "landlock"
	nameSeccomp    = "seccomp"
	nameTime       = "cpu time"
	nameMemory     = "memory limit"
	nameProcesses  = "process limit"
	nameCPU        = "cpu share"
	nameIO         = "device I/O limit"
)
