package meter

import "strings"

// HostCounter is the counter of this machine's packages: the first source that can
// be read, never two of them. The error says why each can't be.
func HostCounter() (Counter, error) {
	var reasons []string
	for _, open := range []func() (Counter, error){
		func() (Counter, error) { return Powercap(PowercapRoot) },
		func() (Counter, error) { return Perf(PerfRoot, OpenPerf) },
		func() (Counter, error) { return AMDEnergy(HwmonRoot) },
	} {
		c, err := open()
		if err == nil {
			return c, nil
		}
		reasons = append(reasons, strings.TrimPrefix(err.Error(), ErrNotMeasured.Error()+": "))
	}
	return nil, notMeasured("%s", strings.Join(reasons, "; "))
}

// HostNode is the node over HostCounter, with the idle floor of the host's table.
func HostNode(t Table) (*Node, error) {
	c, err := HostCounter()
	if err != nil {
		return nil, err
	}
	return NewNode(NodeConfig{Counter: c, Busy: BusyCPU, Floor: t.IdleMilliwatts})
}
