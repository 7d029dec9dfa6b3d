package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/manifest"
)

// driftDocument is what drifted between two environments.
type driftDocument struct {
	Same  bool             `json:"same"`
	From  joulebox.ID      `json:"from"`
	To    joulebox.ID      `json:"to"`
	Drift []manifest.Drift `json:"drift"`
	// Bytes says that both are pinned, so that the same address is the same bytes.
	Bytes bool `json:"bytes"`
}

func newEnvDiff(c *console) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "say what drifted between two environments",
		Long: `Compares two environments, each a devcontainer.json, a manifest or a signed
manifest, and names every member in which they differ.

Exits with 0 when they are the same, 1 when something drifted or a file is refused.`,
		Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			a, err := c.loadManifest(args[0])
			if err != nil {
				return err
			}
			b, err := c.loadManifest(args[1])
			if err != nil {
				return err
			}
			doc := driftDocument{a.ID() == b.ID(), a.ID(), b.ID(), manifest.Diff(a, b), a.Fields().Pinned && b.Fields().Pinned}
			if asJSON {
				err = c.document(doc)
			} else {
				c.showDrift(doc)
			}
			if err == nil && !doc.Same {
				return quiet(exitFailed)
			}
			return err
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (c *console) showDrift(doc driftDocument) {
	for _, d := range doc.Drift {
		switch {
		case d.From == "":
			fmt.Fprintf(c.out, "+ %s: %s\n", show(d.Member), d.To)
		case d.To == "":
			fmt.Fprintf(c.out, "- %s: %s\n", show(d.Member), d.From)
		default:
			fmt.Fprintf(c.out, "! %s: %s, then %s\n", show(d.Member), d.From, d.To)
		}
	}
	switch {
	case !doc.Same:
		fmt.Fprintf(c.out, "drifted: %s, then %s\n", doc.From, doc.To)
	case doc.Bytes:
		fmt.Fprintf(c.out, "the same: %s\n", doc.From)
	default:
		fmt.Fprintf(c.out, "the same declaration, unpinned: %s\n", doc.From)
	}
}

// show quotes a name from a file if a terminal could act on it.
func show(name string) string {
	if quoted := fmt.Sprintf("%q", name); quoted[1:len(quoted)-1] != name {
		return quoted
	}
	return name
}
