package cli

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/custody"
)

func newKeyTrust(c *console) *cobra.Command {
	remove := ""
	cmd := &cobra.Command{
		Use:   "trust [PUB NAME]",
		Short: "trust a public key under a name; without arguments list those trusted",
		Long: `Adds a public key to those that verify trusts. A signature proves only that some key
made it; whose key it is, nobody but you can say.`,
		Args: cobra.MatchAll(cobra.MaximumNArgs(2), func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				return errors.New("got a key without a name, want both")
			}
			return nil
		}),
		RunE: func(_ *cobra.Command, args []string) error {
			list, err := custody.OpenTrust("")
			if err != nil {
				return fail(exitFailed, err, "")
			}
			switch {
			case remove != "":
				err = list.Remove(remove)
			case len(args) == 2:
				err = addTrust(list, args[0], args[1])
			default:
				for _, k := range list.Keys() {
					fmt.Fprintf(c.out, "%x  %s\n", []byte(k.Public), k.Name)
				}
			}
			if err != nil {
				return fail(exitFailed, err, "")
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&remove, "remove", "", "no longer trust the key under this `NAME`")
	return cmd
}

func addTrust(list *custody.Trust, key, name string) error {
	public, err := custody.ParsePublic(key)
	if err != nil {
		return err
	}
	return list.Add(name, public)
}

// pinnedKeys are what trust rests on. Keys named on the command line stand
// alone; otherwise it is the trusted list and this host's own key, if it has one.
func pinnedKeys(texts []string) (keys []bundle.Key, err error) {
	known, err := knownKeys()
	if err != nil || len(texts) == 0 {
		return known, err
	}
	for _, t := range texts {
		k, err := pickKey(t, known)
		if err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	return keys, nil
}

func knownKeys() (keys []bundle.Key, err error) {
	list, err := custody.OpenTrust("")
	if err != nil {
		return nil, err
	}
	for _, k := range list.Keys() {
		keys = append(keys, bundle.Key{Name: k.Name, Public: k.Public})
	}
	// A verifier needs no key of its own, so one that can't be read isn't missed.
	if own, err := custody.Show(custody.DefaultReference); err == nil && own.Public != nil {
		keys = append(keys, bundle.Key{Name: "this host", Public: own.Public})
	}
	return keys, nil
}

func pickKey(text string, known []bundle.Key) (bundle.Key, error) {
	for _, k := range known {
		if k.Name == text || hex.EncodeToString(k.Public) == text {
			return k, nil
		}
	}
	name := "--key"
	if src, err := os.ReadFile(text); err == nil {
		first, _, _ := strings.Cut(string(src), "\n")
		name, text = text, strings.TrimSpace(first)
	}
	public, err := custody.ParsePublic(text)
	if err != nil {
		err = fmt.Errorf("--key: %w, or the name of a trusted key, or a file that begins with one", err)
	}
	return bundle.Key{Name: name, Public: public}, err
}
