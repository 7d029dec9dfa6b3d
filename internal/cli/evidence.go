package cli

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/evidence"
	"github.com/joulebox/joulebox/evidence/appraise"
)

func newEvidence(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "evidence",
		Short: "verify what hardware says of itself",
		Long: `Reports, quotes and tokens of confidential hardware, verified down to their vendor's
root and held against a policy. Joulebox verifies such evidence; it makes none.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newEvidenceVerify(c), newEvidenceFetch(c))
	return cmd
}

type evidenceFlags struct {
	kind, report, collateral, policy, now string
	asJSON, ear                           bool
}

func newEvidenceVerify(c *console) *cobra.Command {
	var f evidenceFlags
	cmd := &cobra.Command{
		Use:   "verify --kind KIND --report FILE",
		Short: "check evidence offline, and say what could not be checked",
		Long: `Makes every check that a report allows, one line each: its form, its signatures, the
chain to the vendor's root, revocation, and then the policy. Nothing is fetched:
certificates, revocation lists and the vendors' statements come from --collateral.

The kinds are sev-snp (AMD SEV-SNP report), tdx (Intel TDX quote), nvidia-gpu (token
bundle of NVIDIA's attestation service) and arm-cca (Arm CCA token).

What the policy neither states nor gives up on by name stays open. Exits with 0 when
the evidence is genuine and meets the policy, 1 when a check failed, 2 on a usage
error, 3 when nothing fails and something that trust needs is missing.`,
		Args: cobra.NoArgs,
		RunE: func(_ *cobra.Command, _ []string) error { return c.evidenceVerify(f) },
	}
	cmd.Flags().StringVar(&f.kind, "kind", "", "the `KIND` of evidence: sev-snp, tdx, nvidia-gpu or arm-cca")
	cmd.Flags().StringVar(&f.report, "report", "", "the report, quote or token, in `FILE` as the hardware or its service gave it")
	collateralFlags(cmd, &f.collateral, &f.now)
	cmd.Flags().StringVar(&f.policy, "policy", "", "what is acceptable, in `FILE`, JSON or YAML (docs/evidence.md)")
	cmd.Flags().BoolVar(&f.ear, "ear", false, "print the result as a token for RATS tools (EAR), signed with this host's key")
	jsonFlag(cmd, &f.asJSON)
	return cmd
}

func collateralFlags(cmd *cobra.Command, dir, now *string) {
	cmd.Flags().StringVar(dir, "collateral", "", "take certificates, revocation lists and statements from the files in `DIR`")
	cmd.Flags().StringVar(now, "now", "", "judge evidence as of `TIME` (RFC 3339) instead of by this machine's clock")
}

func (c *console) evidenceVerify(f evidenceFlags) error {
	kind, err := evidence.ParseKind(f.kind)
	if err != nil {
		return fail(exitUsage, fmt.Errorf("--%w", err), "")
	}
	if f.report == "" || f.ear && f.asJSON {
		return fail(exitUsage, errors.New("want --report, and at most one of --json and --ear"), "")
	}
	v, err := appraise.Verifier(kind)
	if err != nil {
		return fail(exitUsage, err, "")
	}
	report, err := readCapped(f.report, maxReport)
	if err != nil {
		return fail(exitUsage, err, "")
	}
	collateral, policy, id, err := readAppraisal(f.collateral, f.policy, f.now)
	if err != nil {
		return fail(exitUsage, err, "")
	}
	a := v.Verify(report, collateral.Collateral, policy)
	for _, name := range collateral.Ignored {
		a.Note("%s in the collateral isn't any that is read, and was ignored", name)
	}
	if err := c.showAppraisal(f, a, id); err != nil {
		return err
	}
	return quiet(a.Verdict.ExitCode())
}

// maxReport is far more than a report, quote or token is.
const maxReport = 16 << 20

func readCapped(name string, most int64) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, fmt.Errorf("%s: want a file of at most %d bytes", name, most)
	}
	return os.ReadFile(name)
}

// readAppraisal reads what evidence is judged by. Without a policy file nothing is
// stated, and everything that must be stays open.
func readAppraisal(dir, file, now string) (*appraise.Folder, evidence.Policy, joulebox.ID, error) {
	folder := &appraise.Folder{}
	var policy evidence.Policy
	src := []byte(`{"schema":"` + evidence.PolicySchema + `"}`)
	var err error
	if dir != "" {
		if folder, err = appraise.ReadFolder(dir); err != nil {
			return nil, policy, joulebox.ID{}, err
		}
	}
	if file != "" {
		if src, err = readCapped(file, 1<<20); err != nil {
			return nil, policy, joulebox.ID{}, err
		}
	}
	if policy, err = evidence.ParsePolicy(src); err != nil {
		return nil, policy, joulebox.ID{}, fmt.Errorf("%s: %w", file, err)
	}
	policy.Now = time.Now()
	if now != "" {
		if policy.Now, err = time.Parse(time.RFC3339, now); err != nil {
			return nil, policy, joulebox.ID{}, fmt.Errorf("--now: %w", err)
		}
	}
	return folder, policy, joulebox.Sum(src), nil
}

// appraisalDocument is the result of evidence verify as JSON.
type appraisalDocument struct {
	Report string      `json:"report"`
	Policy joulebox.ID `json:"policy"` // the content address of the policy's bytes
	*evidence.Appraisal
}

func (c *console) showAppraisal(f evidenceFlags, a *evidence.Appraisal, policy joulebox.ID) error {
	if f.asJSON {
		return c.document(appraisalDocument{f.report, policy, a})
	}
	if f.ear {
		return c.printEAR(a, policy)
	}
	for _, k := range a.Checks {
		detail := k.Detail
		if k.Reason != "" {
			detail = string(k.Reason) + ": " + detail
		}
		fmt.Fprintf(c.out, "%s %-22s %s\n", c.paintOut(statusStyle[k.Status], fmt.Sprintf("%-4s", statusMark[k.Status])), k.Name, detail)
	}
	for _, n := range a.Notes {
		fmt.Fprintf(c.out, "%-4s %s\n", "note", n)
	}
	verdict := map[bundle.Verdict]string{bundle.Valid: "valid", bundle.Invalid: "INVALID", bundle.Incomplete: "nothing fails, but trust is incomplete"}[a.Verdict]
	fmt.Fprintf(c.out, "%s: %s\n", f.report, verdict)
	return nil
}

// printEAR signs the result with this host's key: whoever trusts that key needn't
// repeat the appraisal.
func (c *console) printEAR(a *evidence.Appraisal, policy joulebox.ID) error {
	key, err := c.openKey()
	if err != nil {
		return fail(exitFailed, err, "")
	}
	defer key.Close()
	token, err := appraise.EAR(a, appraise.EARInput{Now: time.Now(), Build: readVersion().Version, PolicyID: policy.String(), KeyID: key.HostID().String()}, key)
	if err != nil {
		return fail(exitFailed, err, "")
	}
	fmt.Fprintln(c.out, token)
	return nil
}
