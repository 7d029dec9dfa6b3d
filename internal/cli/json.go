package cli

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"io"

	"github.com/spf13/cobra"
)

func jsonFlag(cmd *cobra.Command, v *bool) {
	cmd.Flags().BoolVar(v, "json", false, "print one JSON document instead of text")
}

// document prints the one JSON document that a command was asked for.
func (c *console) document(v any) error { return writeDocument(c.out, v) }

func writeDocument(w io.Writer, v any) error {
	b, err := json.Marshal(v, jsontext.WithIndent("  "), json.Deterministic(true))
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}
