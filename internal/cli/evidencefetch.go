package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/joulebox/joulebox/evidence"
	"github.com/joulebox/joulebox/evidence/fetch"
	"github.com/joulebox/joulebox/evidence/nvgpu"
	"github.com/joulebox/joulebox/evidence/sevsnp"
	"github.com/joulebox/joulebox/evidence/tdx"
)

type fetchFlags struct{ kind, report, collateral, product, mirror, now string }

func newEvidenceFetch(c *console) *cobra.Command {
	var f fetchFlags
	cmd := &cobra.Command{
		Use:   "fetch --kind KIND --report FILE --collateral DIR",
		Short: "get what verifying a report needs from its vendor, into a folder",
		Long: `Asks the vendor's service for the certificates, revocation lists and statements that
a report needs, and writes them to --collateral. This is the only command about
evidence that reaches the network; verifying never does.

What is fetched is trusted for its signatures and not for where it came from, but for
NVIDIA's keys, which have no root here: those are as good as this connection.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.evidenceFetch(cmd.Context(), f) },
	}
	cmd.Flags().StringVar(&f.kind, "kind", "", "the `KIND` of evidence: sev-snp, tdx or nvidia-gpu")
	cmd.Flags().StringVar(&f.report, "report", "", "the report or quote in `FILE`; not needed for nvidia-gpu")
	cmd.Flags().StringVar(&f.collateral, "collateral", "", "write to `DIR`, which is made if need be")
	cmd.Flags().StringVar(&f.product, "product", "", "the `LINE` of processors, for sev-snp reports of version 2: Milan, Genoa or Turin")
	cmd.Flags().StringVar(&f.mirror, "mirror", "", "ask the server at `URL` in the vendor's place, under the vendor's paths")
	cmd.Flags().StringVar(&f.now, "now", "", "take `TIME` (RFC 3339) for now instead of this machine's clock")
	return cmd
}

func (c *console) evidenceFetch(ctx context.Context, f fetchFlags) error {
	if f.collateral == "" {
		return fail(exitUsage, errors.New("want --collateral, the folder to write to"), "")
	}
	client := &fetch.Client{}
	if f.mirror != "" {
		u, err := url.Parse(f.mirror)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return fail(exitUsage, fmt.Errorf("--mirror: got %q, want a URL", f.mirror), "")
		}
		client.Mirror = u
	}
	sources, err := f.sources()
	if err != nil {
		return fail(exitUsage, err, "")
	}
	names, err := client.Fetch(ctx, sources, f.collateral)
	if err != nil {
		return fail(exitFailed, err, "")
	}
	for _, name := range names {
		fmt.Fprintln(c.out, filepath.Join(f.collateral, name))
	}
	return nil
}

// sources are what this kind of report needs.
func (f *fetchFlags) sources() ([]evidence.Source, error) {
	now := time.Now()
	if f.now != "" {
		var err error
		if now, err = time.Parse(time.RFC3339, f.now); err != nil {
			return nil, fmt.Errorf("--now: %w", err)
		}
	}
	kind, err := evidence.ParseKind(f.kind)
	switch {
	case err != nil:
		return nil, fmt.Errorf("--%w", err)
	case kind == evidence.NvidiaGPU:
		return nvgpu.Sources(), nil
	case kind == evidence.ArmCca:
		return nil, errors.New("--kind: there is no service that gives out the keys of arm-cca's platforms")
	case f.report == "":
		return nil, errors.New("want --report")
	}
	report, err := readCapped(f.report, maxReport)
	if err != nil {
		return nil, err
	}
	if kind == evidence.Tdx {
		return tdx.Sources(report, now)
	}
	return sevsnp.Sources(report, sevsnp.Product(f.product))
}
