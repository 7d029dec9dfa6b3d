package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/joulebox/joulebox/attestation"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/evidence/appraise"
)

type verifyFlags struct {
	keys        []string
	challenge   string
	multiTenant bool
	asJSON      bool
	quiet       bool

	collateral, evidencePolicy, now string
}

func newVerify(c *console) *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use:   "verify BUNDLE...",
		Short: "check bundles offline, and say what could not be checked",
		Long: `Makes every check that a bundle allows, one line each, with no network and
nothing but the file and the keys that you trust: --key, the keys of joulebox key
trust, and this host's own. Over several bundles it reports equivocation: two
receipts that one key signed under one sequence number.

From S6 on a bundle carries hardware evidence. It is verified under the policy in
--evidence-policy, with what --collateral holds beside the bundle's own chain.

Exits with 0 when all are genuine under a trusted key, 1 when a check failed, 2 on
a usage error, 3 when something that trust needs is missing.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, files []string) error { return c.verify(f, files) },
	}
	cmd.Flags().StringArrayVar(&f.keys, "key", nil, "trust only this public key: `PUB` is 64 hex digits, the name of a trusted key, or a file that holds one")
	cmd.Flags().StringVar(&f.challenge, "challenge", "", "require the unit to carry the freshness value `C` that you handed out")
	cmd.Flags().BoolVar(&f.multiTenant, "multi-tenant", false, "require the tier that a host of several tenants must use")
	collateralFlags(cmd, &f.collateral, &f.now)
	cmd.Flags().StringVar(&f.evidencePolicy, "evidence-policy", "", "verify hardware evidence under the policy in `FILE` (docs/evidence.md)")
	cmd.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "print one line a bundle")
	jsonFlag(cmd, &f.asJSON)
	return cmd
}

// verified is one bundle's outcome, as shown and as JSON.
type verified struct {
	File string `json:"file"`
	bundle.Report
	Tier      string `json:"tier,omitempty"`
	Outcome   string `json:"outcome,omitempty"`
	UnitID    string `json:"unit_id,omitempty"`
	ReceiptID string `json:"receipt_id,omitempty"`
	Signer    string `json:"signer,omitempty"`
}

type verifyDocument struct {
	Verdict      bundle.Verdict `json:"verdict"`
	Bundles      []verified     `json:"bundles"`
	Equivocation []string       `json:"equivocation"`
}

func (c *console) verify(f verifyFlags, files []string) error {
	o := bundle.Options{MultiTenant: f.multiTenant}
	var err error
	if o.Challenge, err = parseChallenge(f.challenge); err != nil {
		return fail(exitUsage, err, "")
	}
	if o.Pinned, err = pinnedKeys(f.keys); err != nil {
		return fail(exitUsage, err, "")
	}
	if o.Evidence, err = f.evidence(); err != nil {
		return fail(exitUsage, err, "")
	}
	doc := verifyDocument{Verdict: bundle.Valid, Equivocation: []string{}}
	var parsed []*bundle.Bundle
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			return fail(exitUsage, err, "")
		}
		v, b := verifyOne(file, src, o)
		if b != nil {
			parsed = append(parsed, b)
		}
		doc.add(v)
	}
	for _, conflict := range bundle.Equivocation(parsed) {
		doc.Verdict = bundle.Invalid
		doc.Equivocation = append(doc.Equivocation, conflict.String())
	}
	if f.asJSON {
		err = c.document(doc)
	} else {
		c.showVerified(doc, f.quiet)
	}
	if err != nil {
		return err
	}
	return quiet(doc.Verdict.ExitCode())
}

// evidence is the verifier of hardware evidence, nil when nothing was said of it:
// a bundle that needs it then says so.
func (f *verifyFlags) evidence() (func(*bundle.Evidence, [64]byte) ([]bundle.Check, *attestation.TEE), error) {
	if f.collateral == "" && f.evidencePolicy == "" && f.now == "" {
		return nil, nil
	}
	folder, policy, _, err := readAppraisal(f.collateral, f.evidencePolicy, f.now)
	if err != nil {
		return nil, err
	}
	if len(policy.ReportData) > 0 {
		return nil, errors.New("--evidence-policy: leave report_data out: in a bundle it is the run's")
	}
	return appraise.Bundle(folder.Collateral, policy), nil
}

// add takes one bundle in; the worst verdict is the whole document's.
func (d *verifyDocument) add(v verified) {
	d.Bundles = append(d.Bundles, v)
	if v.Verdict == bundle.Invalid || d.Verdict == bundle.Valid {
		d.Verdict = v.Verdict
	}
}

// verifyOne checks one file. What doesn't even parse is invalid, not a usage
// error: the file is what was handed in to be judged.
func verifyOne(file string, src []byte, o bundle.Options) (verified, *bundle.Bundle) {
	b, err := bundle.Parse(src)
	if err != nil {
		check := bundle.Check{Name: "form", Status: bundle.Fail, Detail: err.Error()}
		return verified{File: file, Report: bundle.Report{Verdict: bundle.Invalid, Checks: []bundle.Check{check}, Notes: []string{}}}, nil
	}
	fields := b.Statement().Fields()
	return verified{
		File: file, Report: b.Verify(o),
		Tier: fields.Tier.String(), Outcome: fields.Outcome.String(),
		UnitID: b.UnitID().String(), ReceiptID: b.Receipt().ID().String(), Signer: b.Seal().PublicKeyHex,
	}, b
}

var statusMark = map[bundle.Status]string{bundle.Pass: "ok", bundle.Fail: "FAIL", bundle.Unknown: "?", bundle.Skip: "-"}
var statusStyle = map[bundle.Status]style{bundle.Pass: green, bundle.Fail: red, bundle.Unknown: amber, bundle.Skip: dim}

func (c *console) showVerified(doc verifyDocument, short bool) {
	for _, v := range doc.Bundles {
		if !short {
			for _, k := range v.Checks {
				fmt.Fprintf(c.out, "%s %-22s %s\n", c.paintOut(statusStyle[k.Status], fmt.Sprintf("%-4s", statusMark[k.Status])), k.Name, k.Detail)
			}
			for _, n := range v.Notes {
				fmt.Fprintf(c.out, "%-4s %s\n", "note", n)
			}
		}
		fmt.Fprintf(c.out, "%s: %s\n", v.File, verdictText(v))
	}
	for _, e := range doc.Equivocation {
		fmt.Fprintln(c.out, e)
	}
}

func verdictText(v verified) string {
	ran := ""
	if v.Tier != "" {
		ran = fmt.Sprintf(" (%s, %s)", v.Tier, v.Outcome)
	}
	switch v.Verdict {
	case bundle.Valid:
		return "valid" + ran
	case bundle.Incomplete:
		return "nothing fails, but trust is incomplete" + ran + ": " + names(v.Missing())
	}
	return "INVALID: " + names(v.Failures())
}

func names(checks []bundle.Check) string {
	list := make([]string, len(checks))
	for i, k := range checks {
		list[i] = k.Name
	}
	return strings.Join(list, ", ")
}
