package cli

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/manifest"
)

func newEnv(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "env",
		Short: "make, compare and verify environment manifests",
		Long: `An environment manifest is one canonical object that stands for a declared
environment: base image, features, variables, mounts and user. Its address says
whether two environments are the same.`,
		Args: cobra.ArbitraryArgs,
		RunE: needsSubcommand,
	}
	cmd.AddCommand(newEnvIngest(c), newEnvDiff(c), newEnvVerify(c))
	return cmd
}

type ingestFlags struct {
	sign, suggest, asJSON bool
}

func newEnvIngest(c *console) *cobra.Command {
	var f ingestFlags
	cmd := &cobra.Command{
		Use:   "ingest FILE",
		Short: "make the environment manifest of a devcontainer.json",
		Long: `Prints the canonical manifest of a devcontainer.json, and on standard error its
address and whether it is pinned. Only what declares an environment is taken; what
executes commands, widens the sandbox or isn't known is refused, all of it at once,
each with its field, line, column, reason and what to do. "-" is standard input.

With --suggest it prints the part of the file that would be taken.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			src, err := c.readFile(args[0])
			if err != nil {
				return fail(exitUsage, err, "")
			}
			if f.suggest {
				return c.suggest(src)
			}
			m, err := manifest.Ingest(src)
			if err != nil {
				return c.refused(args[0], src, err, f.asJSON)
			}
			return c.showManifest(m, f)
		},
	}
	cmd.Flags().BoolVar(&f.sign, "sign", false, "sign it with this host's key, and print the signed object")
	cmd.Flags().BoolVar(&f.suggest, "suggest", false, "print the part of the file that would be taken, and no manifest")
	jsonFlag(cmd, &f.asJSON)
	return cmd
}

func (c *console) suggest(src []byte) error {
	s := manifest.Suggest(src)
	if s == nil {
		_, err := manifest.Ingest(src)
		return fail(exitFailed, fmt.Errorf("nothing can be suggested: %w", err), "")
	}
	_, err := c.out.Write(s)
	return err
}

// refusedManifest is the document of a file that is refused.
type refusedManifest struct {
	File       string            `json:"file"`
	Refusals   manifest.Refusals `json:"refusals"`
	Suggestion string            `json:"suggestion,omitempty"`
}

// refused shows all refusals, one a line, as compilers do.
func (c *console) refused(file string, src []byte, err error, asJSON bool) error {
	list, ok := errors.AsType[manifest.Refusals](err)
	if !ok {
		return fail(exitFailed, err, "")
	}
	suggestion := manifest.Suggest(src)
	if asJSON {
		if err := c.document(refusedManifest{file, list, string(suggestion)}); err != nil {
			return err
		}
		return quiet(exitFailed)
	}
	for _, r := range list {
		// The string is safe for a terminal; its parts need not be.
		_, text, _ := strings.Cut(r.String(), ": ")
		fmt.Fprintf(c.err, "%s:%d:%d: %s\n", file, r.Line, r.Column, text)
	}
	hint := ""
	if suggestion != nil {
		hint = "--suggest prints the part of the file that would be taken"
	}
	return fail(exitFailed, fmt.Errorf("%s: %d refused", file, len(list)), hint)
}

// shownManifest is a manifest as --json shows it.
type shownManifest struct {
	Address       joulebox.ID    `json:"address"`
	Pinned        bool           `json:"pinned"`
	Labels        []string       `json:"labels"`
	HostDependent []string       `json:"host_dependent"`
	Manifest      jsontext.Value `json:"manifest"`
	Seal          *manifest.Seal `json:"seal,omitzero"`
}

func (c *console) showManifest(m *manifest.Manifest, f ingestFlags) error {
	doc := shownManifest{m.ID(), m.Fields().Pinned, m.Labels(), m.Variables(), m.Core(), nil}
	text := m.Core()
	if f.sign {
		s, err := c.signManifest(m)
		if err != nil {
			return fail(exitFailed, err, "")
		}
		if text, err = s.Canonical(); err != nil {
			return fail(exitFailed, err, "")
		}
		doc.Seal = &s.Seal
	}
	if f.asJSON {
		return c.document(doc)
	}
	if _, err := fmt.Fprintf(c.out, "%s\n", text); err != nil {
		return err
	}
	c.note("%s, %s", m.ID(), pinnedText(m))
	for _, l := range m.Labels() {
		c.note("%s", l)
	}
	return nil
}

func pinnedText(m *manifest.Manifest) string {
	if m.Fields().Pinned {
		return "pinned"
	}
	return "unpinned: the address is that of a declaration and not of bytes"
}

func (c *console) signManifest(m *manifest.Manifest) (*manifest.Signed, error) {
	key, err := c.openKey()
	if err != nil {
		return nil, err
	}
	defer key.Close()
	return manifest.Sign(key, m)
}

// loadManifest reads a manifest in any of its forms: canonical, signed, or as the
// devcontainer.json that it is made of.
func (c *console) loadManifest(file string) (*manifest.Manifest, error) {
	src, err := c.readFile(file)
	if err != nil {
		return nil, fail(exitUsage, err, "")
	}
	m, err := readManifest(src)
	if err != nil {
		return nil, fail(exitFailed, fmt.Errorf("%s: %w", file, err), "")
	}
	return m, nil
}

func readManifest(src []byte) (*manifest.Manifest, error) {
	var head struct {
		Schema string         `json:"schema"`
		Core   jsontext.Value `json:"core"`
	}
	// What isn't plain JSON is for Ingest; what has the members of a manifest isn't.
	if json.Unmarshal(src, &head) == nil {
		switch {
		case head.Core != nil:
			s, err := manifest.ParseSigned(src)
			if err == nil {
				err = s.VerifyClaimed()
			}
			if err != nil {
				return nil, err
			}
			return s.Manifest, nil
		case head.Schema != "":
			return manifest.Parse(src)
		}
	}
	return manifest.Ingest(src)
}
