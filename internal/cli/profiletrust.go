package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/custody"
	"github.com/joulebox/joulebox/unit"
)

// trustedProfiles are the contents that were trusted, each with the path that it
// was trusted from, for people.
type trustedProfiles []trustedProfile

type trustedProfile struct {
	ID   joulebox.ID `json:"id"`
	Name string      `json:"name"`
}

func (l trustedProfiles) find(id joulebox.ID) int {
	return slices.IndexFunc(l, func(p trustedProfile) bool { return p.ID == id })
}

func trustedProfilesFile() (string, error) {
	state, err := custody.StateDir()
	return filepath.Join(state, "profiles"), err
}

// readTrustedProfiles reads one line a profile: its id, a blank, its path.
func readTrustedProfiles() (list trustedProfiles, err error) {
	name, err := trustedProfilesFile()
	if err != nil {
		return nil, err
	}
	src, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(src)) {
		id, path, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		parsed, err := joulebox.ParseID(id)
		if err != nil {
			return nil, fmt.Errorf("%s: %w; remove the line", name, err)
		}
		list = append(list, trustedProfile{parsed, path})
	}
	return list, nil
}

func (l trustedProfiles) write() error {
	name, err := trustedProfilesFile()
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, p := range l {
		fmt.Fprintf(&b, "%s %s\n", p.ID, p.Name)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := beside(name)
	if err != nil {
		return err
	}
	return replace(f, name, private, func(f *os.File) error {
		if _, err := f.WriteString(b.String()); err != nil {
			return err
		}
		return f.Sync()
	})
}

func newProfile(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "profile",
		Short: "look at a project's profile, and trust it",
		Long: `A profile is a JSON or YAML file with what a project's programs need: grants, mounts
(with host paths relative to the profile), env, image and workdir. It applies only
where joulebox run names it with --profile, and only if its content has been
trusted: a change of one byte asks again.`,
		Args: cobra.ArbitraryArgs,
		RunE: needsSubcommand,
	}
	cmd.AddCommand(newProfileTrust(c), newProfileList(c), newProfileForget(c))
	return cmd
}

func newProfileTrust(c *console) *cobra.Command {
	return &cobra.Command{
		Use:   "trust FILE",
		Short: "show what a profile grants, and trust it as it is now",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := readProfile(args[0])
			if err != nil {
				return fail(exitUsage, err, "")
			}
			if err := c.showProfile(p); err != nil {
				return fail(exitUsage, err, "")
			}
			name, err := filepath.Abs(args[0])
			if err != nil {
				return fail(exitFailed, err, "")
			}
			if strings.ContainsAny(name, "\n\r") {
				return fail(exitUsage, fmt.Errorf("got the path %q, want one without line breaks", name), "")
			}
			list, err := readTrustedProfiles()
			if err == nil && list.find(p.id) < 0 {
				err = append(list, trustedProfile{p.id, name}).write()
			}
			if err != nil {
				return fail(exitFailed, err, "")
			}
			c.note("trusted %s as %s", args[0], short(p.id))
			return nil
		},
	}
}

// showProfile shows all that a profile brings, before it is trusted.
func (c *console) showProfile(p *profile) error {
	e, err := explain(p.grants, unit.Placement{}, p.Image != "")
	if err != nil {
		return err
	}
	c.showExplained(e)
	for _, m := range p.Mounts {
		fmt.Fprintf(c.out, "mount    %s at %s\n", m.Host, m.Guest)
	}
	for _, v := range p.Env {
		fmt.Fprintf(c.out, "env      %q\n", v)
	}
	if p.Image != "" {
		fmt.Fprintf(c.out, "image    %q\n", p.Image)
	}
	if p.WorkDir != "" {
		fmt.Fprintf(c.out, "workdir  %q\n", p.WorkDir)
	}
	return nil
}

func newProfileList(c *console) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "list",
		Short: "list the profiles that are trusted",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			list, err := readTrustedProfiles()
			if err != nil {
				return fail(exitFailed, err, "")
			}
			if asJSON {
				return c.document(append(trustedProfiles{}, list...))
			}
			for _, p := range list {
				fmt.Fprintf(c.out, "%s  %s\n", short(p.ID), p.Name)
			}
			return nil
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func newProfileForget(c *console) *cobra.Command {
	return &cobra.Command{
		Use:   "forget ID|FILE",
		Short: "no longer trust a profile",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			list, err := readTrustedProfiles()
			if err != nil {
				return fail(exitFailed, err, "")
			}
			name, _ := filepath.Abs(args[0])
			kept := slices.DeleteFunc(slices.Clone(list), func(p trustedProfile) bool {
				return p.Name == name || strings.HasPrefix(p.ID.String(), args[0]) && len(args[0]) > len("b3:")
			})
			if len(kept) == len(list) {
				return fail(exitFailed, fmt.Errorf("%s: no such profile is trusted", args[0]), "joulebox profile list shows them")
			}
			if err := kept.write(); err != nil {
				return fail(exitFailed, err, "")
			}
			c.note("forgot %d", len(list)-len(kept))
			return nil
		},
	}
}
