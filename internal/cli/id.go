package cli

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/joulebox/joulebox"
)

func newID(c *console) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "id FILE...",
		Short: "print the content address of files",
		Long: `Prints the content address (§3) of each file's bytes: "b3:" and the BLAKE3-256
digest in base64url. "-" is standard input. To address a JSON object, pipe its
canonical form in: joulebox canon jcs --strict < FILE | joulebox id -`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, files []string) error {
			list := make([]addressed, 0, len(files))
			for _, f := range files {
				id, err := c.address(f)
				if err != nil {
					return fail(exitFailed, err, "")
				}
				list = append(list, addressed{ID: id, File: f})
			}
			if asJSON {
				return c.document(list)
			}
			for _, a := range list {
				fmt.Fprintf(c.out, "%s  %s\n", a.ID, a.File)
			}
			return nil
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

type addressed struct {
	ID   joulebox.ID `json:"id"`
	File string      `json:"file"`
}

func (c *console) address(file string) (id joulebox.ID, err error) {
	in := c.in
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return id, err
		}
		defer f.Close()
		in = f
	}
	h := joulebox.NewHasher()
	if _, err := io.Copy(h, in); err != nil {
		return id, err
	}
	return h.ID(), nil
}
