package cli

import (
	"fmt"
	"strings"
)

// formatEnergy shows microjoules as people read them, without losing any.
func formatEnergy(uj uint64) string {
	switch {
	case uj >= 1e6 && uj%1000 == 0, uj >= 100e6:
		return trimZeros(fmt.Sprintf("%d.%06d", uj/1e6, uj%1e6)) + " J"
	case uj >= 1e3:
		return trimZeros(fmt.Sprintf("%d.%03d", uj/1e3, uj%1e3)) + " mJ"
	}
	return fmt.Sprintf("%d µJ", uj)
}

// formatBytes uses the largest binary unit that loses nothing.
func formatBytes(n uint64) string {
	names := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for ; i < len(names)-1 && n > 0 && n%1024 == 0; i++ {
		n /= 1024
	}
	return fmt.Sprintf("%d %s", n, names[i])
}

func trimZeros(s string) string { return strings.TrimSuffix(strings.TrimRight(s, "0"), ".") }
