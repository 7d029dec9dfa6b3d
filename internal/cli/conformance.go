package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/joulebox/joulebox/conformance"
)

func newConformance(c *console) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "conformance [FILE...]",
		Short: "hold this binary to conformance vectors",
		Long: `Judges this binary by the vectors that it holds (§10), or by those in each FILE, with no
skips. There are vectors for the classes C6 (run records), C7 (environment manifests),
C9 (warm pools) and C10 (fleets); the pack is the folder conformance/vectors of the source.

Exits with 0 when every case passes, 1 when one doesn't.`,
		RunE: func(_ *cobra.Command, files []string) error {
			list := conformance.Run()
			if len(files) > 0 {
				list = nil
			}
			for _, file := range files {
				src, err := os.ReadFile(file)
				if err != nil {
					return fail(exitUsage, err, "")
				}
				list = append(list, conformance.Judge(filepath.Base(file), src)...)
			}
			return c.showConformance(list, asJSON)
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// conformanceDocument is what came of all cases.
type conformanceDocument struct {
	Passed int                  `json:"passed"`
	Failed int                  `json:"failed"`
	Cases  []conformance.Result `json:"cases"`
}

func (c *console) showConformance(list []conformance.Result, asJSON bool) error {
	doc := conformanceDocument{Cases: list}
	passed, failed := map[string]int{}, map[string]int{}
	var classes []string
	for _, r := range list {
		if passed[r.Class]+failed[r.Class] == 0 {
			classes = append(classes, r.Class)
		}
		if r.Err == "" {
			passed[r.Class]++
			doc.Passed++
			continue
		}
		failed[r.Class]++
		doc.Failed++
	}
	if asJSON {
		if err := c.document(doc); err != nil {
			return err
		}
	} else {
		for _, class := range classes {
			word := c.paintOut(green, "ok  ")
			if failed[class] > 0 {
				word = c.paintOut(red, "FAIL")
			}
			fmt.Fprintf(c.out, "%s %-4s %3d of %3d cases\n", word, class, passed[class], passed[class]+failed[class])
		}
		for _, r := range list {
			if r.Err != "" {
				fmt.Fprintf(c.out, "%s %s: %s\n", r.Class, show(r.Case), r.Err)
			}
		}
	}
	if doc.Failed > 0 {
		return quiet(exitFailed)
	}
	return nil
}
