package evidence

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/joulebox/joulebox/internal/plainyaml"
)

// PolicySchema is the value of a policy file's member "schema".
const PolicySchema = "joulebox.evidence-policy/1"

// maxPolicy is far more than a policy is.
const maxPolicy = 1 << 20

type policyFile struct {
	Schema string `json:"schema"`
	Policy
}

// ParsePolicy reads a policy file, JSON or plain YAML: closed members, no null,
// every value of its own length. The clock isn't in it: set Now.
func ParsePolicy(src []byte) (Policy, error) {
	if len(src) > maxPolicy {
		return Policy{}, fmt.Errorf("policy: got %d bytes, want at most %d", len(src), maxPolicy)
	}
	text, err := plainyaml.JSON(src)
	if err != nil {
		return Policy{}, fmt.Errorf("policy: %w", err)
	}
	if err := refuseNull(text); err != nil {
		return Policy{}, fmt.Errorf("policy: %w", err)
	}
	var f policyFile
	if err := json.Unmarshal(text, &f, json.RejectUnknownMembers(true)); err != nil {
		return Policy{}, fmt.Errorf("policy: %w", err)
	}
	if f.Schema != PolicySchema {
		return Policy{}, fmt.Errorf("policy: schema: got %q, want %q", f.Schema, PolicySchema)
	}
	return f.Policy, f.Policy.check()
}

// refuseNull finds a null, which the decoder would read as the zero value: a
// demand that is written and not made.
func refuseNull(text []byte) error {
	d := jsontext.NewDecoder(bytes.NewReader(text))
	for {
		t, err := d.ReadToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if t.Kind() == 'n' {
			return fmt.Errorf("%s: got null; leave the member out", d.StackPointer())
		}
	}
}

// check holds every value to its form, so that no demand is one that can't be met.
func (p *Policy) check() error {
	for _, w := range p.Waived {
		if !slices.Contains(waivers, w) {
			return fmt.Errorf("policy: accept_without_checking: got %q, want some of %q", w, waivers)
		}
	}
	for _, l := range p.lengths() {
		for _, h := range l.values {
			if len(h) != 0 && !slices.Contains(l.want, len(h)) {
				return fmt.Errorf("policy: %s: got %d bytes, want %v", l.name, len(h), l.want)
			}
		}
	}
	if k := p.SevSnp.SigningKey; k != "" && k != "vcek" && k != "vlek" {
		return fmt.Errorf("policy: sev_snp.signing_key: got %q, want vcek or vlek", k)
	}
	if f := p.SevSnp.MinimumFirmware; f != "" {
		if _, err := ParseFirmware(f); err != nil {
			return fmt.Errorf("policy: sev_snp.minimum_firmware: %w", err)
		}
	}
	return nil
}

// length is how long the values of a member may be; the empty value is unset.
type length struct {
	name   string
	want   []int
	values []Hex
}

func (p *Policy) lengths() []length {
	s, t, c := &p.SevSnp, &p.Tdx, &p.ArmCca
	all := []length{
		{"measurements", []int{32, 48, 64}, p.Measurements},
		{"report_data", []int{32, 64}, []Hex{p.ReportData}},
		{"sev_snp.host_data", []int{32}, []Hex{s.HostData}},
		{"sev_snp.chip_ids", []int{64}, s.ChipIDs},
		{"sev_snp.family_id", []int{16}, []Hex{s.FamilyID}},
		{"sev_snp.image_id", []int{16}, []Hex{s.ImageID}},
		{"sev_snp.id_key_digests", []int{48}, s.IDKeyDigests},
		{"sev_snp.author_key_digests", []int{48}, s.AuthorKeyDigests},
		{"tdx.minimum_tee_tcb_svn", []int{16}, []Hex{t.MinimumTEETCBSVN}},
		{"tdx.xfam", []int{8}, []Hex{t.XFAM}},
		{"arm_cca.personalization_value", []int{64}, []Hex{c.PersonalizationValue}},
		{"arm_cca.implementation_ids", []int{32}, c.ImplementationIDs},
		{"arm_cca.instance_ids", []int{33}, c.InstanceIDs},
		{"arm_cca.software_measurements", []int{32, 48, 64}, c.SoftwareMeasurements},
	}
	for _, m := range t.Registers() {
		all = append(all, length{"tdx." + m.Name, []int{48}, m.Accepted})
	}
	for i, r := range c.ExtensibleMeasurements {
		all = append(all, length{fmt.Sprintf("arm_cca.extensible_measurements[%d]", i), []int{32, 48, 64}, r})
	}
	return all
}

// Register is one of a trust domain's measurements and what is acceptable there.
type Register struct {
	Name     string
	Accepted []Hex
}

// Registers are all but the launch measurement, under their members' names.
func (t *TdxPolicy) Registers() []Register {
	return []Register{
		{"mr_seam", t.MRSEAM}, {"mr_config_id", t.MRConfigID}, {"mr_owner", t.MROwner}, {"mr_owner_config", t.MROwnerConfig},
		{"mr_service_td", t.MRServiceTD}, {"rtmr0", t.RTMR0}, {"rtmr1", t.RTMR1}, {"rtmr2", t.RTMR2}, {"rtmr3", t.RTMR3},
	}
}

// ParseFirmware reads a firmware version of three numbers below 256.
func ParseFirmware(s string) (v [3]byte, err error) {
	parts := strings.Split(s, ".")
	if len(parts) != len(v) {
		return v, fmt.Errorf("got %q, want major.minor.build", s)
	}
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 8)
		if err != nil || strconv.FormatUint(n, 10) != part {
			return v, fmt.Errorf("got %q, want three plain numbers below 256", s)
		}
		v[i] = byte(n)
	}
	return v, nil
}
