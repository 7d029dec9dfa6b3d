package cli

import (
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/custody"
)

func newKey(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "key",
		Short: "make, show, rotate and adopt this host's key, and trust others",
		Long: `The host's key signs every record and lives with its sequence numbers in the state
folder. It is made at the first run. Public keys are shown and read as 64 hex
digits.`,
		Args: cobra.ArbitraryArgs,
		RunE: needsSubcommand,
	}
	cmd.AddCommand(newKeyNew(c), newKeyShow(c), newKeyTrust(c), newKeyRotate(c), newKeyAdopt(c))
	return cmd
}

func newKeyNew(c *console) *cobra.Command {
	return &cobra.Command{
		Use:   "new [REFERENCE]",
		Short: "make a key; one that is there is never overwritten",
		Long: `Makes a key in the state folder, or where the REFERENCE says: file:NAME for another
one there, file:/PATH for a folder somewhere else.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return c.withKey(custody.New, args, "made")
		},
	}
}

func newKeyRotate(c *console) *cobra.Command {
	return &cobra.Command{
		Use:   "rotate [REFERENCE]",
		Short: "make a new key in place of this one, which is kept as retired",
		Long: `Makes a new key and retires the old one. It is also the way on from a key that was
copied, lost or damaged. Who trusted the old key must be given the new one.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return c.withKey(custody.Rotate, args, "rotated to")
		},
	}
}

func newKeyAdopt(c *console) *cobra.Command {
	return &cobra.Command{
		Use:   "adopt [REFERENCE]",
		Short: "say that a copied key's original is gone for good",
		Long: `A copied or restored key signs nothing, lest two hosts give out the same sequence
numbers. Adopting it is your word that the original will never sign again. Its
numbers go on far beyond any that the original can have used.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return c.withKey(custody.Adopt, args, "adopted")
		},
	}
}

func reference(args []string) string {
	if len(args) > 0 {
		return args[0]
	}
	return custody.DefaultReference
}

func (c *console) withKey(do func(string) (*custody.Key, error), args []string, what string) error {
	k, err := do(reference(args))
	if err != nil {
		return fail(exitFailed, err, "")
	}
	defer k.Close()
	info, err := k.Info()
	if err != nil {
		return fail(exitFailed, err, "")
	}
	c.note("%s key %s", what, info.Path)
	fmt.Fprintln(c.out, hex.EncodeToString(info.Public))
	return nil
}

// shownKey is a key as key show tells about it.
type shownKey struct {
	Path         string        `json:"path"`
	Public       string        `json:"public_key,omitempty"`
	HostID       joulebox.ID   `json:"host_id,omitzero"`
	State        custody.State `json:"state"`
	Reason       string        `json:"reason,omitempty"`
	NextSequence uint64        `json:"next_sequence,omitempty"`
}

func newKeyShow(c *console) *cobra.Command {
	var asJSON, retired bool
	cmd := &cobra.Command{
		Use:   "show [REFERENCE]",
		Short: "print the public key, its host id and its state",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			keys, err := showKeys(reference(args), retired)
			if errors.Is(err, custody.ErrNoKey) {
				return fail(exitFailed, errors.New("there is no key yet"), "the first run makes one, or joulebox key new")
			}
			if err != nil {
				return fail(exitFailed, err, "")
			}
			if asJSON {
				return c.document(keys)
			}
			for _, k := range keys {
				k.print(c)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&retired, "retired", false, "also those that were rotated away, so that what they signed can be verified")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func showKeys(ref string, retired bool) ([]shownKey, error) {
	info, err := custody.Show(ref)
	if err != nil {
		return nil, err
	}
	list := []custody.Info{info}
	if retired {
		old, err := custody.RetiredKeys(ref)
		if err != nil {
			return nil, err
		}
		list = append(list, old...)
	}
	keys := make([]shownKey, len(list))
	for i, k := range list {
		keys[i] = shownKey{k.Path, hex.EncodeToString(k.Public), k.HostID, k.State, k.Reason, k.NextSequence}
	}
	return keys, nil
}

// print puts the public key on a line of its own, first, so that it can be cut.
func (k shownKey) print(c *console) {
	fmt.Fprintf(c.out, "%s\n", k.Public)
	fmt.Fprintf(c.out, "  host   %s\n  state  %s\n  path   %s\n", k.HostID, k.State, k.Path)
	if k.State == custody.Active {
		fmt.Fprintf(c.out, "  next   receipt number %d or above\n", k.NextSequence)
	}
	if k.Reason != "" {
		fmt.Fprintf(c.out, "  why    %s\n", k.Reason)
	}
}
