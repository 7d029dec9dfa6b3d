package sevsnp

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/evidence"
	"github.com/joulebox/joulebox/evidence/evidencetest"
	"github.com/joulebox/joulebox/evidence/internal/pki"
	"github.com/joulebox/joulebox/internal/vectors"
)

const group = "05-tee"

// expected is snp/expected.json: whatever cases and mutations it lists are judged.
type expected struct {
	Cases []struct {
		Case, Chain string
		Fields      fieldVector
		Checked     struct {
			NotBefore time.Time                                `json:"not_before"`
			NotAfter  time.Time                                `json:"not_after"`
			TCB       struct{ BL, TEE, SNP, Ucode, FMC uint8 } `json:"ext_tcb"`
		} `json:"checked_here"`
	}
	Mutations []struct {
		Name, File, VCEK, Chain string
		Offset                  *int
		XOR                     byte
		Truncate                *int
		AppendHex               vectors.Hex `json:"append_hex"`
	}
}

type fieldVector struct {
	Version      uint32
	GuestSVN     uint32 `json:"guest_svn"`
	Policy       string
	Debug        bool `json:"debug_allowed"`
	MigrateMA    bool `json:"migrate_ma"`
	SMT          bool `json:"smt_allowed"`
	VMPL         uint32
	SigAlgo      uint32      `json:"sig_algo"`
	Current      vectors.Hex `json:"current_tcb_bytes"`
	PlatformInfo string      `json:"platform_info"`
	SigningKey   string      `json:"signing_key"`
	Mask         bool        `json:"mask_chip_key"`
	ReportData   vectors.Hex `json:"report_data"`
	Measurement  vectors.Hex
	HostData     vectors.Hex `json:"host_data"`
	Reported     vectors.Hex `json:"reported_tcb_bytes"`
	Committed    vectors.Hex `json:"committed_tcb_bytes"`
	Launch       vectors.Hex `json:"launch_tcb_bytes"`
	ChipID       vectors.Hex `json:"chip_id"`
	CPU          []int       `json:"cpuid_fam_mod_step"`
}

func loadExpected(t testing.TB) (e expected) {
	t.Helper()
	vectors.Load(t, group, "snp/expected.json", &e)
	return e
}

func read(t testing.TB, name string) []byte { return vectors.Read(t, group, "snp/"+name) }

// chainOf are the certificates of one PEM file, root among them.
func chainOf(t testing.TB, name string) [][]byte {
	t.Helper()
	ders, err := pki.File(read(t, name))
	if err != nil {
		t.Fatal(name, err)
	}
	return ders
}

// goods are the cases as evidence, each under a policy that states all of it.
func goods(t testing.TB) (all []evidencetest.Good) {
	t.Helper()
	for _, c := range loadExpected(t).Cases {
		f := c.Fields
		tcb := c.Checked.TCB
		all = append(all, evidencetest.Good{
			Name:   c.Case,
			Report: read(t, c.Case+"/report.bin"),
			Collateral: evidence.Collateral{
				Certificates: append([][]byte{read(t, c.Case+"/vcek.der")}, chainOf(t, c.Chain)...),
			},
			Policy: evidence.Policy{
				Now:          c.Checked.NotBefore.Add(24 * time.Hour),
				Measurements: []evidence.Hex{evidence.Hex(f.Measurement)},
				ReportData:   evidence.Hex(f.ReportData),
				AllowDebug:   f.Debug,
				Waived:       []evidence.Waiver{evidence.NoRevocation},
				SevSnp: evidence.SevSnpPolicy{
					HostData: evidence.Hex(f.HostData), SigningKey: strings.ToLower(f.SigningKey), MaxVMPL: &f.VMPL,
					MinimumTCB: &TCB{BootLoader: tcb.BL, TEE: tcb.TEE, SNP: tcb.SNP, Microcode: tcb.Ucode, FMC: tcb.FMC},
				},
			},
		})
	}
	return all
}

func TestVectorsSuite(t *testing.T) {
	all := goods(t)
	vectors.AtLeast(t, "SEV-SNP reports", len(all), 4)
	evidencetest.Suite(t, Verifier{}, all)
}

// Every field of every report is the one that was listed.
func TestVectorsFields(t *testing.T) {
	judged := 0
	for _, c := range loadExpected(t).Cases {
		r, err := Parse(read(t, c.Case+"/report.bin"))
		if err != nil {
			t.Fatal(c.Case, err)
		}
		f := c.Fields
		cpu := CPU{}
		if len(f.CPU) == 3 {
			cpu = CPU{byte(f.CPU[0]), byte(f.CPU[1]), byte(f.CPU[2])}
		}
		for _, v := range []struct {
			name      string
			got, want any
		}{
			{"version", r.Version, f.Version},
			{"guest_svn", r.GuestSVN, f.GuestSVN},
			{"policy", fmt.Sprintf("%#x", uint64(r.Policy)), f.Policy},
			{"debug_allowed", r.Policy.has(policyDebug), f.Debug},
			{"migrate_ma", r.Policy.has(policyMigrationAgent), f.MigrateMA},
			{"smt_allowed", r.Policy.has(policySMT), f.SMT},
			{"vmpl", r.VMPL, f.VMPL},
			{"sig_algo", r.SignatureAlgo, f.SigAlgo},
			{"current_tcb", hex.EncodeToString(r.CurrentTCB[:]), hex.EncodeToString(f.Current)},
			{"platform_info", fmt.Sprintf("%#x", uint64(r.PlatformInfo)), f.PlatformInfo},
			{"signing_key", r.SigningKey.String(), f.SigningKey},
			{"mask_chip_key", r.MaskChipKey, f.Mask},
			{"report_data", hex.EncodeToString(r.ReportData[:]), hex.EncodeToString(f.ReportData)},
			{"measurement", hex.EncodeToString(r.Measurement[:]), hex.EncodeToString(f.Measurement)},
			{"host_data", hex.EncodeToString(r.HostData[:]), hex.EncodeToString(f.HostData)},
			{"reported_tcb", hex.EncodeToString(r.ReportedTCB[:]), hex.EncodeToString(f.Reported)},
			{"committed_tcb", hex.EncodeToString(r.CommittedTCB[:]), hex.EncodeToString(f.Committed)},
			{"launch_tcb", hex.EncodeToString(r.LaunchTCB[:]), hex.EncodeToString(f.Launch)},
			{"chip_id", hex.EncodeToString(r.ChipID[:]), hex.EncodeToString(f.ChipID)},
			{"cpuid", r.CPU, cpu},
		} {
			judged++
			if v.got != v.want {
				t.Errorf("%s: %s: got %v, want %v", c.Case, v.name, v.got, v.want)
			}
		}
	}
	vectors.AtLeast(t, "fields", judged, 80)
}

// What each case's words say: debugging is refused unless allowed, a key past its
// time is expired, and another kind of key is refused by who wants the one.
func TestVectorsPolicy(t *testing.T) {
	cases := loadExpected(t).Cases
	debug, vlek := 0, 0
	for i, g := range goods(t) {
		f := cases[i].Fields
		if f.Debug {
			debug++
			p := g.Policy
			p.AllowDebug = false
			evidencetest.Want(t, g.Name, Verifier{}.Verify(g.Report, g.Collateral, p), bundle.Invalid, evidence.Debug)
		}
		p := g.Policy
		p.Now = cases[i].Checked.NotAfter.Add(time.Second)
		evidencetest.Want(t, g.Name, Verifier{}.Verify(g.Report, g.Collateral, p), bundle.Invalid, evidence.Expired)
		p.Now = cases[i].Checked.NotBefore.Add(-time.Second)
		evidencetest.Want(t, g.Name, Verifier{}.Verify(g.Report, g.Collateral, p), bundle.Invalid, evidence.NotYetValid)
		p = g.Policy
		p.SevSnp.SigningKey = map[string]string{"VCEK": "vlek", "VLEK": "vcek"}[f.SigningKey]
		evidencetest.Want(t, g.Name, Verifier{}.Verify(g.Report, g.Collateral, p), bundle.Invalid, evidence.Unmet)
		if f.SigningKey == "VLEK" {
			vlek++
		}
		p = g.Policy
		p.SevSnp.MinimumTCB = &TCB{Microcode: 255}
		evidencetest.Want(t, g.Name, Verifier{}.Verify(g.Report, g.Collateral, p), bundle.Invalid, evidence.TCB)
	}
	vectors.AtLeast(t, "reports of guests that can be debugged", debug, 1)
	vectors.AtLeast(t, "reports of a VLEK", vlek, 1)
}

func TestVectorsMutations(t *testing.T) {
	e := loadExpected(t)
	byFile := map[string]evidencetest.Good{}
	for _, g := range goods(t) {
		byFile[g.Name+"/report.bin"] = g
	}
	for _, m := range e.Mutations {
		g, ok := byFile[m.File]
		if !ok {
			t.Errorf("%s: no case has %s", m.Name, m.File)
			continue
		}
		report := bytes.Clone(g.Report)
		want := evidence.Reason("")
		switch {
		case m.Truncate != nil:
			report, want = report[:*m.Truncate], evidence.Truncated
		case len(m.AppendHex) > 0:
			report, want = append(report, m.AppendHex...), evidence.Trailing
		case m.Offset != nil:
			report[*m.Offset] ^= m.XOR
		}
		c := g.Collateral
		if m.VCEK != "" {
			c.Certificates = append([][]byte{read(t, m.VCEK)}, c.Certificates[1:]...)
		}
		if m.Chain != "" {
			c.Certificates = append(c.Certificates[:1:1], chainOf(t, m.Chain)...)
			want = evidence.Chain
		}
		a := Verifier{}.Verify(report, c, g.Policy)
		evidencetest.Want(t, m.Name, a, bundle.Invalid, want)
		t.Logf("%s: %v", m.Name, a.Err())
	}
	vectors.AtLeast(t, "mutations", len(e.Mutations), 16)
}

// The files that stand beside the cases are all somebody's.
func TestVectorsCovered(t *testing.T) {
	listed := map[string]bool{"expected.json": true}
	for _, c := range loadExpected(t).Cases {
		listed[c.Case+"/report.bin"], listed[c.Case+"/vcek.der"] = true, true
	}
	root := filepath.Join(vectors.Dir(t, group), "snp")
	chains, err := filepath.Glob(filepath.Join(root, "chains", "*.pem"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range chains {
		builtIn(t, c)
	}
	vectors.AtLeast(t, "chains of AMD", len(chains), 6)
	dirs, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		if d.IsDir() && d.Name() != "chains" && !listed[d.Name()+"/report.bin"] {
			t.Errorf("no case judges %s", d.Name())
		}
	}
}

// builtIn wants a chain of the vectors to be one that is built in.
func builtIn(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	ders, err := pki.File(text)
	if err != nil || len(ders) != 2 {
		t.Fatalf("%s: got %d certificates, %v", file, len(ders), err)
	}
	all, err := lines()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		if bytes.Equal(l.ask.Raw, ders[0]) && bytes.Equal(l.ark.Raw, ders[1]) {
			return
		}
	}
	t.Errorf("%s isn't among the built-in chains", file)
}

// No byte of a report, of its key's certificate or of AMD's chain can change.
func TestVectorsEveryByteCounts(t *testing.T) {
	for _, g := range goods(t) {
		evidencetest.Flip(t, g.Name, g.Report, nil, func(b []byte) bool {
			return Verifier{}.Verify(b, g.Collateral, g.Policy).Verdict != bundle.Invalid
		})
		for i, cert := range g.Collateral.Certificates {
			if testing.Short() && i > 0 {
				break
			}
			evidencetest.Flip(t, fmt.Sprintf("%s, certificate %d", g.Name, i), cert, nil, func(b []byte) bool {
				c := evidence.Collateral{Certificates: append([][]byte{}, g.Collateral.Certificates...)}
				c.Certificates[i] = b
				return Verifier{}.Verify(g.Report, c, g.Policy).Verdict == bundle.Valid
			})
		}
	}
}
