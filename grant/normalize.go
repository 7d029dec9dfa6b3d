package grant

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/joulebox/joulebox"
)

// normalize sorts every list and drops repeats, so that two people who wish
// for the same get the same id. Signed grants keep their given order instead.
func (s *Set) normalize() {
	s.Compute.Devices = sortedDevices(append(s.Compute.Devices, joulebox.CPU))
	s.Storage.Read = sortedUnique(s.Storage.Read)
	s.Storage.Write = sortedUnique(s.Storage.Write)
	s.Storage.Delete = sortedUnique(s.Storage.Delete)
	s.Network.Outbound = sortedUnique(s.Network.Outbound)
	s.KV.Prefixes = sortedUnique(s.KV.Prefixes)
	s.Process.Programs = sortedUnique(s.Process.Programs)
	s.Process.AllowHashes = sortedIDs(s.Process.AllowHashes)
	s.Process.DenyHashes = sortedIDs(s.Process.DenyHashes)
	s.Browser.Origins = sortedUnique(s.Browser.Origins)
}

func sortedUnique[T cmp.Ordered](list []T) []T {
	slices.Sort(list)
	return slices.Compact(list)
}

func sortedIDs(list []joulebox.ID) []joulebox.ID {
	slices.SortFunc(list, func(a, b joulebox.ID) int { return bytes.Compare(a[:], b[:]) })
	return slices.Compact(list)
}
