package tdx

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/joulebox/joulebox/evidence"
)

// Status is Intel's verdict on a security version.
type Status string

// The statuses that are combined.
const (
	UpToDate                          Status = "UpToDate"
	SWHardeningNeeded                 Status = "SWHardeningNeeded"
	ConfigurationNeeded               Status = "ConfigurationNeeded"
	ConfigurationAndSWHardeningNeeded Status = "ConfigurationAndSWHardeningNeeded"
	OutOfDate                         Status = "OutOfDate"
	OutOfDateConfigurationNeeded      Status = "OutOfDateConfigurationNeeded"
	Revoked                           Status = "Revoked"
)

// with is the platform's status, given the status of something that runs on it:
// the TDX module or the quoting enclave. What isn't known stands as it is, so
// that no policy that names the known ones accepts it.
func (s Status) with(part Status) Status {
	switch {
	case s == Revoked || part == Revoked:
		return Revoked
	case part == UpToDate:
		return s
	case part != OutOfDate:
		return part
	case s == UpToDate || s == SWHardeningNeeded:
		return OutOfDate
	case s == ConfigurationNeeded || s == ConfigurationAndSWHardeningNeeded:
		return OutOfDateConfigurationNeeded
	}
	return s
}

// verdict is a status with how it came about.
type verdict struct {
	status     Status
	advisories []string
}

func (v verdict) String() string {
	if len(v.advisories) == 0 {
		return string(v.status)
	}
	return fmt.Sprintf("%s %v", v.status, v.advisories)
}

func (v *verdict) add(l level) {
	v.status = v.status.with(l.Status)
	for _, a := range l.Advisories {
		if !slices.Contains(v.advisories, a) {
			v.advisories = append(v.advisories, a)
		}
	}
}

// platform finds what Intel says of a quote's platform and module.
func (t *tcbInfo) verdict(p *platform, b *Body) (v verdict, err error) {
	if t.ID != "TDX" || t.Version != 3 {
		return v, evidence.Refuse(evidence.BadCollateral, "tcbInfo: got id %q, version %d, want TDX, 3", t.ID, t.Version)
	}
	if !bytes.Equal(t.FMSPC, p.fmspc) || !bytes.Equal(t.PCEID, p.pceID) {
		return v, evidence.Refuse(evidence.Missing, "the TCB info is of FMSPC %x, PCEID %x, and the quote's platform is %x, %x: hand in that one's", []byte(t.FMSPC), []byte(t.PCEID), p.fmspc, p.pceID)
	}
	at := slices.IndexFunc(t.Levels, func(l platformLevel) bool { return l.reached(p, b) })
	if at < 0 {
		return v, evidence.Refuse(evidence.TCB, "the platform is below every security version that Intel lists for FMSPC %x", p.fmspc)
	}
	v = verdict{t.Levels[at].Status, t.Levels[at].Advisories}
	return v, t.module(&v, b)
}

// reached reports whether a platform has at least the level's versions. Where the
// module has an identity of its own, its two bytes aren't the platform's.
func (l *platformLevel) reached(p *platform, b *Body) bool {
	if len(l.TCB.SGX) != 16 || len(l.TCB.TDX) != 16 || p.pceSVN < l.TCB.PCESVN {
		return false
	}
	first := 0
	if b.TEETCBSVN[1] > 0 {
		first = 2
	}
	for i := range 16 {
		if p.svn[i] < l.TCB.SGX[i].SVN || i >= first && int(b.TEETCBSVN[i]) < l.TCB.TDX[i].SVN {
			return false
		}
	}
	return true
}

// module checks the TDX module against Intel's statement about its generation.
func (t *tcbInfo) module(v *verdict, b *Body) error {
	if b.TEETCBSVN[1] == 0 {
		return t.Module.matches(b)
	}
	id := fmt.Sprintf("TDX_%02X", b.TEETCBSVN[1])
	for _, m := range t.Identities {
		if m.ID != id {
			continue
		}
		if err := m.matches(b); err != nil {
			return err
		}
		for _, l := range m.Levels {
			if uint32(b.TEETCBSVN[0]) >= l.TCB.SVN {
				v.add(l.level)
				return nil
			}
		}
		return evidence.Refuse(evidence.TCB, "the TDX module is below every security version that Intel lists for %s", id)
	}
	return evidence.Refuse(evidence.TCB, "Intel's TCB info lists no TDX module %s", id)
}

func (m *module) matches(b *Body) error {
	if !bytes.Equal(m.Signer, b.MRSignerSEAM[:]) || !masked(b.SEAMAttributes[:], m.Attributes, m.Mask) {
		return evidence.Refuse(evidence.Unmet, "the TDX module is signed by %x with attributes %x, and Intel lists %x, %x", b.MRSignerSEAM, b.SEAMAttributes, []byte(m.Signer), []byte(m.Attributes))
	}
	return nil
}

// masked reports whether got is want where mask is set.
func masked(got, want, mask []byte) bool {
	if len(got) != len(want) || len(got) != len(mask) {
		return false
	}
	for i := range got {
		if got[i]&mask[i] != want[i]&mask[i] {
			return false
		}
	}
	return true
}
