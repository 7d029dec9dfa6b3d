package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/joulebox/joulebox/internal/dcbor"
	"github.com/joulebox/joulebox/internal/jcs"
)

// canonLimit bounds what is read into memory at once; no record comes near it.
const canonLimit = 256 << 20

func newCanon(c *console) *cobra.Command {
	strict := false
	cmd := &cobra.Command{
		Use:   "canon jcs|cbor",
		Short: "print the canonical form of standard input",
		Long: `Reads one JSON or CBOR item from standard input and prints its canonical bytes:
RFC 8785 for jcs, RFC 8949 §4.2.1 core deterministic encoding for cbor. With
--strict it holds the input to what signed records may contain: for jcs strings,
booleans, arrays, objects and integers from 0 to 2^53-1; for cbor the input must
be in the canonical form already. A refusal says where.`,
		ValidArgs: []string{"jcs", "cbor"},
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		RunE: func(_ *cobra.Command, args []string) error {
			src, err := readLimited(c.in, canonLimit)
			if err != nil {
				return fail(exitFailed, err, "")
			}
			out, err := canonical(args[0], src, strict)
			if err != nil {
				return fail(exitFailed, where(err), "")
			}
			_, err = c.out.Write(out)
			return err
		},
	}
	cmd.Flags().BoolVar(&strict, "strict", false, "refuse what a signed record may not contain")
	return cmd
}

func canonical(form string, src []byte, strict bool) ([]byte, error) {
	switch {
	case form == "jcs" && strict:
		return jcs.Strict(src)
	case form == "jcs":
		return jcs.Canonical(src)
	case strict:
		return src, dcbor.Check(src)
	}
	return dcbor.Canonical(src)
}

// where puts the position before the message, as compilers do.
func where(err error) error {
	var j *jcs.Error
	if errors.As(err, &j) && j.Line > 0 {
		return fmt.Errorf("line %d, column %d: %s", j.Line, j.Column, j.Msg)
	}
	var b *dcbor.Error
	if errors.As(err, &b) {
		return fmt.Errorf("byte %d: %s", b.Offset, b.Msg)
	}
	return err
}

func readLimited(r io.Reader, limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("input is larger than %s", formatBytes(uint64(limit)))
	}
	return b, err
}
