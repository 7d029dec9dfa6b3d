package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/manifest"
)

// checkedObject is what came of checking one signed object that isn't a bundle.
type checkedObject struct {
	File    string         `json:"file"`
	Verdict bundle.Verdict `json:"verdict"`
	ID      joulebox.ID    `json:"id,omitzero"`
	Checks  []bundle.Check `json:"checks"`
	Notes   []string       `json:"notes"`
}

func newCheckedObject(file string) *checkedObject {
	return &checkedObject{File: file, Verdict: bundle.Valid, Checks: []bundle.Check{}, Notes: []string{}}
}

func (o *checkedObject) add(name string, status bundle.Status, detail string) {
	o.Checks = append(o.Checks, bundle.Check{Name: name, Status: status, Detail: detail})
	if status == bundle.Fail || status == bundle.Unknown && o.Verdict == bundle.Valid {
		o.Verdict = map[bundle.Status]bundle.Verdict{bundle.Fail: bundle.Invalid, bundle.Unknown: bundle.Incomplete}[status]
	}
}

// check adds one check that holds unless there is an error.
func (o *checkedObject) check(name string, err error, detail string) bool {
	if err != nil {
		o.add(name, bundle.Fail, err.Error())
		return false
	}
	o.add(name, bundle.Pass, detail)
	return true
}

// signer looks for the key that a seal names among those that are trusted.
func (o *checkedObject) signer(keyHex string, keys []bundle.Key) {
	for _, k := range keys {
		if fmt.Sprintf("%x", []byte(k.Public)) == keyHex {
			o.add("signer", bundle.Pass, fmt.Sprintf("%s is pinned as %q", keyHex, k.Name))
			return
		}
	}
	o.add("signer", bundle.Unknown, fmt.Sprintf("%s isn't among the %d pinned keys: anybody could have made this; pin the key if you know whose it is", keyHex, len(keys)))
}

func (c *console) showChecked(o *checkedObject, asJSON bool) error {
	if asJSON {
		if err := c.document(o); err != nil {
			return err
		}
		return quiet(o.Verdict.ExitCode())
	}
	for _, k := range o.Checks {
		fmt.Fprintf(c.out, "%s %-22s %s\n", c.paintOut(statusStyle[k.Status], fmt.Sprintf("%-4s", statusMark[k.Status])), k.Name, k.Detail)
	}
	for _, n := range o.Notes {
		fmt.Fprintf(c.out, "%-4s %s\n", "note", n)
	}
	fmt.Fprintf(c.out, "%s: %s\n", o.File, o.Verdict)
	return quiet(o.Verdict.ExitCode())
}

func newEnvVerify(c *console) *cobra.Command {
	var keys []string
	asJSON := false
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "check a signed manifest offline",
		Long: `Checks that a signed manifest is a valid one and whole, and that a trusted key
signed it: --key, the keys of joulebox key trust, or this host's own.

Exits with 0 when it is genuine, 1 when a check failed, 2 on a usage error, 3 when
nothing fails and the signer isn't trusted.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			pinned, err := pinnedKeys(keys)
			if err != nil {
				return fail(exitUsage, err, "")
			}
			src, err := os.ReadFile(args[0])
			if err != nil {
				return fail(exitUsage, err, "")
			}
			return c.showChecked(verifyManifest(args[0], src, pinned), asJSON)
		},
	}
	keyFlag(cmd, &keys)
	jsonFlag(cmd, &asJSON)
	return cmd
}

func keyFlag(cmd *cobra.Command, keys *[]string) {
	cmd.Flags().StringArrayVar(keys, "key", nil, "trust only this public key: `PUB` is 64 hex digits, the name of a trusted key, or a file that holds one")
}

func verifyManifest(file string, src []byte, keys []bundle.Key) *checkedObject {
	o := newCheckedObject(file)
	s, err := manifest.ParseSigned(src)
	if !o.check("form", err, "a signed environment manifest, closed members") {
		return o
	}
	o.ID = s.Manifest.ID()
	o.signer(s.Seal.PublicKeyHex, keys)
	o.check("seal", s.VerifyClaimed(), "Ed25519 over the canonical JSON, and its SHA-256")
	o.Notes = append([]string{"address " + o.ID.String() + ", " + pinnedText(s.Manifest)}, s.Manifest.Labels()...)
	return o
}
