// Package toll is what a host call costs, in the units of the meter: a base by
// kind and a share by bytes. It depends on arguments and results alone, so the
// same run always pays the same.
package toll

// Table holds the prices. A unit is what one scalar instruction costs.
type Table struct {
	Call    uint64 // units for every host call
	Storage uint64 // units more for one that reaches the disk
	Connect uint64 // units more for one that reaches the network
	// BytesPerUnit is how many bytes are copied for one unit; zero makes bytes free.
	BytesPerUnit uint64
}

// Default is the table of this build. The figures are rounded from what the calls
// take on a current machine, against a scalar instruction: about 60 ns for the
// crossing, 3 µs for a file operation, 100 µs for a connection, 16 bytes an
// instruction for a copy.
func Default() Table {
	return Table{Call: 100, Storage: 4_000, Connect: 200_000, BytesPerUnit: 16}
}

// Bytes is the share of n bytes, rounded up.
func (t Table) Bytes(n uint64) uint64 {
	if t.BytesPerUnit == 0 || n == 0 {
		return 0
	}
	return (n-1)/t.BytesPerUnit + 1
}

// IsZero reports that nothing was set.
func (t Table) IsZero() bool { return t == Table{} }
