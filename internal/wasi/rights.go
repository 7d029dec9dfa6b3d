package wasi

// Rights is a set of preview 1 rights: which calls a descriptor is good for.
type Rights uint64

// The rights, by bit.
const (
	RightFdDatasync Rights = 1 << iota
	RightFdRead
	RightFdSeek
	RightFdFdstatSetFlags
	RightFdSync
	RightFdTell
	RightFdWrite
	RightFdAdvise
	RightFdAllocate
	RightPathCreateDirectory
	RightPathCreateFile
	RightPathLinkSource
	RightPathLinkTarget
	RightPathOpen
	RightFdReaddir
	RightPathReadlink
	RightPathRenameSource
	RightPathRenameTarget
	RightPathFilestatGet
	RightPathFilestatSetSize
	RightPathFilestatSetTimes
	RightFdFilestatGet
	RightFdFilestatSetSize
	RightFdFilestatSetTimes
	RightPathSymlink
	RightPathRemoveDirectory
	RightPathUnlinkFile
	RightPollFdReadwrite
	RightSockShutdown
	RightSockAccept
)

// What each kind of descriptor can have at most.
const (
	fileRights = RightFdDatasync | RightFdRead | RightFdSeek | RightFdFdstatSetFlags | RightFdSync | RightFdTell |
		RightFdWrite | RightFdAdvise | RightFdAllocate | RightFdFilestatGet | RightFdFilestatSetSize |
		RightFdFilestatSetTimes | RightPollFdReadwrite

	dirRights = RightFdFdstatSetFlags | RightFdSync | RightFdDatasync | RightFdReaddir | RightFdFilestatGet |
		RightFdFilestatSetTimes | RightPathCreateDirectory | RightPathCreateFile | RightPathLinkSource |
		RightPathLinkTarget | RightPathOpen | RightPathReadlink | RightPathRenameSource | RightPathRenameTarget |
		RightPathFilestatGet | RightPathFilestatSetSize | RightPathFilestatSetTimes | RightPathSymlink |
		RightPathRemoveDirectory | RightPathUnlinkFile

	stdinRights  = RightFdRead | RightFdFdstatSetFlags | RightFdFilestatGet | RightPollFdReadwrite
	outputRights = RightFdWrite | RightFdFdstatSetFlags | RightFdFilestatGet | RightPollFdReadwrite
)

// A file keeps the path rights that it was opened with, useless as they are:
// programs compare what they asked for with what fd_fdstat_get says.
const keptOnFiles = fileRights | dirRights
