package sevsnp

import "github.com/joulebox/joulebox/evidence"

// GuestPolicy is what the guest's owner allows the platform to do with it.
type GuestPolicy uint64

// The bits of a GuestPolicy that are looked at.
const (
	policySMT              = 16
	policyReservedOne      = 17
	policyMigrationAgent   = 18
	policyDebug            = 19
	policySingleSocket     = 20
	policyCXL              = 21
	policyAES256XTS        = 22
	policyRAPLDisabled     = 23
	policyCiphertextHiding = 24
	policyPageSwapDisabled = 25
	policyBits             = 26
)

func (p GuestPolicy) has(bit uint) bool { return p>>bit&1 == 1 }

// check refuses bits that aren't known: one of them may allow what nobody here
// would.
func (p GuestPolicy) check() error {
	if !p.has(policyReservedOne) || p>>policyBits != 0 {
		return evidence.Refuse(evidence.Malformed, "policy: got %#x, want bit 17 set and none above 25", uint64(p))
	}
	return nil
}

// PlatformInfo is what the platform has switched on.
type PlatformInfo uint64

// The bits of a PlatformInfo that are looked at. Others only inform.
const (
	platformAliasCheck = 5 // memory aliases were looked for
)

func (p PlatformInfo) has(bit uint) bool { return p>>bit&1 == 1 }
