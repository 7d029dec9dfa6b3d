package sevsnp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/joulebox/joulebox/evidence"
)

func claims(r *Report, k *endorsed) *evidence.Claims {
	return &evidence.Claims{
		Measurement: r.Measurement[:],
		ReportData:  r.ReportData[:],
		Debug:       r.Policy.has(policyDebug),
		TCB:         k.line.product.parts(k.tcb),
		Details:     details(r, k),
	}
}

func details(r *Report, k *endorsed) map[string]string {
	d := map[string]string{
		"version":           fmt.Sprint(r.Version),
		"guest_svn":         fmt.Sprint(r.GuestSVN),
		"policy":            fmt.Sprintf("%#x", uint64(r.Policy)),
		"family_id":         fmt.Sprintf("%x", r.FamilyID),
		"image_id":          fmt.Sprintf("%x", r.ImageID),
		"vmpl":              fmt.Sprint(r.VMPL),
		"platform_info":     fmt.Sprintf("%#x", uint64(r.PlatformInfo)),
		"signing_key":       k.line.key.String(),
		"product":           string(k.line.product),
		"host_data":         fmt.Sprintf("%x", r.HostData),
		"id_key_digest":     fmt.Sprintf("%x", r.IDKeyDigest),
		"author_key_digest": fmt.Sprintf("%x", r.AuthorKeyDigest),
		"report_id":         fmt.Sprintf("%x", r.ReportID),
		"report_id_ma":      fmt.Sprintf("%x", r.ReportIDMA),
		"chip_id":           fmt.Sprintf("%x", r.ChipID),
		"current_tcb":       fmt.Sprintf("%x", r.CurrentTCB),
		"reported_tcb":      fmt.Sprintf("%x", r.ReportedTCB),
		"committed_tcb":     fmt.Sprintf("%x", r.CommittedTCB),
		"launch_tcb":        fmt.Sprintf("%x", r.LaunchTCB),
		"current_version":   r.Current.String(),
		"committed_version": r.Committed.String(),
	}
	if r.Version >= 3 {
		d["cpuid"] = fmt.Sprintf("%d.%d.%d", r.CPU.Family, r.CPU.Model, r.CPU.Stepping)
	}
	if r.Version >= 5 {
		d["launch_mit_vector"], d["current_mit_vector"] = fmt.Sprintf("%#x", r.LaunchMit), fmt.Sprintf("%#x", r.CurrentMit)
	}
	if k.provider != "" {
		d["csp_id"] = k.provider
	}
	return d
}

// demands holds a genuine report against the policy.
func demands(a *evidence.Appraisal, r *Report, k *endorsed, p *evidence.Policy) {
	s := &p.SevSnp
	a.DemandDebug(p, r.Policy.has(policyDebug), fmt.Sprintf("policy %#x allows it (bit 19)", uint64(r.Policy)))
	a.DemandMeasurement(p, r.Measurement[:])
	a.DemandReportData(p, "report_data", evidence.ReportData, r.ReportData[:])
	demandTCB(a, k, p)
	a.Demand("migration", evidence.Unmet, true, s.AllowMigrationAgent || !r.Policy.has(policyMigrationAgent),
		"the guest's policy lets a migration agent move it: %t", r.Policy.has(policyMigrationAgent))
	if len(s.HostData) > 0 {
		a.DemandOneOf("host_data", evidence.HostData, r.HostData[:], []evidence.Hex{s.HostData})
	}
	if s.MaxVMPL != nil {
		a.Demand("vmpl", evidence.Unmet, true, r.VMPL <= *s.MaxVMPL, "asked for from level %d, at most %d is accepted", r.VMPL, *s.MaxVMPL)
	} else if r.VMPL > 0 {
		a.Note("the report was asked for from privilege level %d: what runs at lower levels vouches for it; set sev_snp.max_vmpl to refuse", r.VMPL)
	}
	a.Demand("signing_key", evidence.Unmet, s.SigningKey != "", strings.EqualFold(s.SigningKey, k.line.key.String()), "signed by a %s, the policy wants a %s", k.line.key, s.SigningKey)
	a.Demand("product", evidence.Unmet, len(s.Products) > 0, slices.Contains(s.Products, string(k.line.product)), "%s, the policy wants one of %v", k.line.product, s.Products)
	identities(a, r, k, s)
	bits(a, r, s)
}

func demandTCB(a *evidence.Appraisal, k *endorsed, p *evidence.Policy) {
	const name = "tcb"
	switch minimum := p.SevSnp.MinimumTCB; {
	case minimum != nil:
		var err error
		if low := below(k.tcb, *minimum); len(low) > 0 {
			err = evidence.Refuse(evidence.TCB, "got %s, want at least %s: too low in %s", k.tcb, *minimum, strings.Join(low, ", "))
		}
		a.Check(name, err, "%s, at least %s", k.tcb, *minimum)
	case p.Waives(evidence.AnyTCB):
		a.Skip(name, "%s; the policy accepts any", k.tcb)
	default:
		a.Check(name, evidence.Refuse(evidence.Unstated, "got %s, and the policy states no minimum: set sev_snp.minimum_tcb, or accept_without_checking tcb", k.tcb), "")
	}
}

func identities(a *evidence.Appraisal, r *Report, k *endorsed, s *evidence.SevSnpPolicy) {
	chip := make(evidence.Hex, len(r.ChipID))
	copy(chip, k.hwid) // certified, and there where the host masks it
	a.DemandOneOf("chip_id", evidence.Unmet, chip, s.ChipIDs)
	for _, c := range []struct {
		name      string
		got, want evidence.Hex
	}{{"family_id", r.FamilyID[:], s.FamilyID}, {"image_id", r.ImageID[:], s.ImageID}} {
		if len(c.want) > 0 {
			a.DemandOneOf(c.name, evidence.Unmet, c.got, []evidence.Hex{c.want})
		}
	}
	a.DemandOneOf("id_key_digest", evidence.Unmet, r.IDKeyDigest[:], s.IDKeyDigests)
	if len(s.AuthorKeyDigests) > 0 && !r.AuthorKeyEn {
		a.Check("author_key_digest", evidence.Refuse(evidence.Unmet, "the guest was launched without an author's key"), "")
	} else {
		a.DemandOneOf("author_key_digest", evidence.Unmet, r.AuthorKeyDigest[:], s.AuthorKeyDigests)
	}
	a.Demand("guest_svn", evidence.Unmet, s.MinimumGuestSVN > 0, r.GuestSVN >= s.MinimumGuestSVN, "%d, at least %d", r.GuestSVN, s.MinimumGuestSVN)
	if s.MinimumFirmware != "" {
		want, err := evidence.ParseFirmware(s.MinimumFirmware)
		a.Demand("firmware", evidence.TCB, true, err == nil && slices.Compare(r.Committed[:], want[:]) >= 0, "committed %s, at least %s", r.Committed, s.MinimumFirmware)
	}
}

func bits(a *evidence.Appraisal, r *Report, s *evidence.SevSnpPolicy) {
	for _, b := range []struct {
		name       string
		asked, met bool
	}{
		{"no_smt", s.RequireNoSMT, !r.Policy.has(policySMT)},
		{"single_socket", s.RequireSingleSocket, r.Policy.has(policySingleSocket)},
		{"ciphertext_hiding", s.RequireCiphertextHiding, r.Policy.has(policyCiphertextHiding)},
		{"aes_256_xts", s.RequireAES256XTS, r.Policy.has(policyAES256XTS)},
		{"rapl_disabled", s.RequireRAPLDisabled, r.Policy.has(policyRAPLDisabled)},
		{"page_swap_disabled", s.RequirePageSwapDisabled, r.Policy.has(policyPageSwapDisabled)},
		{"no_cxl", s.RequireNoCXL, !r.Policy.has(policyCXL)},
		{"memory_alias_check", s.RequireMemoryAliasCheck, r.PlatformInfo.has(platformAliasCheck)},
	} {
		a.Demand(b.name, evidence.Unmet, b.asked, b.met, "the guest's policy is %#x, the platform's info %#x", uint64(r.Policy), uint64(r.PlatformInfo))
	}
}
