package cli

import "github.com/joulebox/joulebox/grant"

// hostCeilings are the largest I/O ceilings that this host takes for a bound
// (§2.4): above them a neighbour could still be observed through the disk.
func hostCeilings() grant.Ceilings {
	iops, rate := uint64(1000), uint64(100<<20)
	return grant.Ceilings{MaxIOPS: &iops, MaxReadBPS: &rate}
}
