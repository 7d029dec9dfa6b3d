package cli

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/lang"
)

func newLang(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lang",
		Short: "keep the interpreters that scripts run on",
		Long: `A language is an interpreter that is a WASM module, with the files that it reads. With
one that knows the extension, joulebox run takes a script in place of a module: the
unit's image is then the interpreter, its files and the script together, so that the
record covers all of them.

The recipes in scripts/lang build Python and JavaScript. Languages are kept in
$XDG_DATA_HOME/joulebox/lang, by digest.`,
		Args: cobra.ArbitraryArgs,
		RunE: needsSubcommand,
	}
	cmd.AddCommand(newLangAdd(c), newLangList(c), newLangRemove(c))
	return cmd
}

func openLanguages() (*lang.Store, error) {
	dir, err := dataDir()
	if err != nil {
		return nil, err
	}
	return lang.Open(dir), nil
}

// shownLanguage is a language as lang list tells about it.
type shownLanguage struct {
	Name         string      `json:"name"`
	Version      string      `json:"version"`
	ID           joulebox.ID `json:"id"`
	ModuleID     joulebox.ID `json:"module_id"`
	Extensions   []string    `json:"extensions"`
	Interpreters []string    `json:"interpreters"`
	Files        int         `json:"files"`
	Bytes        uint64      `json:"bytes"`
	Needs        lang.Needs  `json:"needs"`
}

func showLanguage(l *lang.Language) shownLanguage {
	s := shownLanguage{
		Name: l.Name, Version: l.Version, ID: l.ID, Extensions: l.Extensions, Interpreters: l.Interpreters,
		Files: len(l.Files), Needs: l.Needs,
	}
	for _, f := range l.Files {
		s.Bytes += f.Size
		if f.Path == l.Module {
			s.ModuleID = f.B3
		}
	}
	return s
}

func newLangList(c *console) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "list",
		Short: "list the languages that are here",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			s, err := openLanguages()
			if err != nil {
				return fail(exitFailed, err, "")
			}
			all, err := s.List()
			if err != nil {
				return fail(exitFailed, err, "")
			}
			shown := make([]shownLanguage, len(all))
			for i, l := range all {
				shown[i] = showLanguage(l)
			}
			if asJSON {
				return c.document(shown)
			}
			return c.showLanguages(shown)
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (c *console) showLanguages(all []shownLanguage) error {
	if len(all) == 0 {
		c.note("no languages; the recipes in scripts/lang build some, and joulebox lang add keeps them")
		return nil
	}
	w := tabwriter.NewWriter(c.out, 0, 8, 2, ' ', 0)
	for _, l := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", l.Name, l.Version, strings.Join(l.Extensions, " "), l.ID)
	}
	return w.Flush()
}

func newLangRemove(c *console) *cobra.Command {
	return &cobra.Command{
		Use:   "remove NAME...",
		Short: "forget languages, and the files that no other one has",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			s, err := openLanguages()
			if err != nil {
				return fail(exitFailed, err, "")
			}
			for _, name := range names {
				if err := removeLanguage(cmd.Context(), s, name); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func removeLanguage(ctx context.Context, s *lang.Store, name string) error {
	if err := s.Remove(ctx, name); err != nil {
		return fail(exitFailed, err, "joulebox lang list shows the languages that are here")
	}
	return nil
}
