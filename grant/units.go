package grant

import (
	"fmt"
	"math/big"
	"strings"
)

// measure is a suffix that a person may write and what it multiplies by.
type measure struct {
	suffix string
	factor uint64
}

var (
	timeUnits   = []measure{{"ms", 1}, {"s", 1000}, {"min", 60_000}, {"m", 60_000}, {"h", 3_600_000}}
	energyUnits = []measure{{"uJ", 1}, {"µJ", 1}, {"μJ", 1}, {"mJ", 1000}, {"kJ", 1_000_000_000}, {"MJ", 1_000_000_000_000},
		{"mWh", 3_600_000}, {"kWh", 3_600_000_000_000}, {"Wh", 3_600_000_000}, {"J", 1_000_000}}
	byteUnits = []measure{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
		{"kB", 1000}, {"KB", 1000}, {"MB", 1_000_000}, {"GB", 1_000_000_000}, {"TB", 1_000_000_000_000}, {"B", 1}, {"", 1}}
)

// ParseTime reads a time such as "500ms", "30s" or "1.5h" as milliseconds. A
// bare number is refused: it could be either.
func ParseTime(s string) (uint64, error) { return parseUnit(s, timeUnits, "30s or 500ms") }

// ParseEnergy reads an energy such as "5J", "0.5J" or "200mJ" as microjoules. A
// bare number is refused.
func ParseEnergy(s string) (uint64, error) { return parseUnit(s, energyUnits, "5J or 200mJ") }

// ParseBytes reads a size such as "64MiB", "64MB" or "67108864" as bytes.
func ParseBytes(s string) (uint64, error) { return parseUnit(s, byteUnits, "64MiB") }

// parseUnit multiplies exactly: a fraction of the base unit is refused, not
// rounded.
func parseUnit(s string, units []measure, example string) (uint64, error) {
	digits := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZµμ")
	suffix := s[len(digits):]
	for _, u := range units {
		if u.suffix != suffix {
			continue
		}
		v, ok := decimal(digits, u.factor)
		if !ok {
			return 0, fmt.Errorf("got %q, want a whole number of base units up to %d, as in %s", s, uint64(MaxInteger), example)
		}
		return v, nil
	}
	return 0, fmt.Errorf("got %q, want a number with its unit, as in %s", s, example)
}

func decimal(s string, factor uint64) (uint64, bool) {
	whole, frac, point := strings.Cut(s, ".")
	if whole == "" || point && frac == "" || len(s) > 40 || strings.Trim(whole+frac, "0123456789") != "" {
		return 0, false
	}
	n, _ := new(big.Int).SetString(whole+frac, 10)
	n.Mul(n, new(big.Int).SetUint64(factor))
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(len(frac))), nil)
	n, rest := n.QuoRem(n, scale, new(big.Int))
	if rest.Sign() != 0 || n.Cmp(big.NewInt(MaxInteger)) > 0 {
		return 0, false
	}
	return n.Uint64(), true
}
