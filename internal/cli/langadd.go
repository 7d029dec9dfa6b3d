package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/internal/lang"
	"github.com/joulebox/joulebox/meter"
)

func newLangAdd(c *console) *cobra.Command {
	var extensions []string
	cmd := &cobra.Command{
		Use:   "add NAME DIR|MODULE [FILE...]",
		Short: "keep a language under a name, in place of one that had it",
		Long: `Takes a folder that a recipe made (lang.json says what is in it), or an interpreter's
module with the files that it reads and the extensions of its scripts (--ext). The
module is checked and compiled, which can take a while and is done once.`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			source, err := languageSource(args[1], args[2:], extensions)
			if err != nil {
				return fail(exitUsage, err, "")
			}
			defer source.Close()
			return c.addLanguage(cmd.Context(), args[0], source)
		},
	}
	cmd.Flags().StringArrayVar(&extensions, "ext", nil, "run scripts with this `EXTENSION`, like .py; a folder's lang.json says it itself")
	return cmd
}

func languageSource(first string, files, extensions []string) (lang.Source, error) {
	info, err := os.Stat(first)
	switch {
	case err != nil:
		return lang.Source{}, err
	case !info.IsDir():
		return lang.FileSource(first, files, extensions)
	case len(files) > 0 || len(extensions) > 0:
		return lang.Source{}, fmt.Errorf("%s: a folder's lang.json says which files and extensions there are; name no others", first)
	}
	return lang.FolderSource(first)
}

func (c *console) addLanguage(ctx context.Context, name string, source lang.Source) error {
	s, err := openLanguages()
	if err != nil {
		return fail(exitFailed, err, "")
	}
	if err := c.checkLanguage(ctx, source); err != nil {
		return err
	}
	l, err := s.Add(ctx, name, source)
	if err != nil {
		return fail(exitFailed, err, "")
	}
	return c.showAdded(showLanguage(l))
}

// checkLanguage compiles the module, so that no script has to wait for it.
func (c *console) checkLanguage(ctx context.Context, source lang.Source) error {
	module, err := source.Module()
	if err != nil {
		return fail(exitFailed, err, "")
	}
	engine, err := openEngine()
	if err != nil {
		return fail(exitFailed, err, "")
	}
	defer engine.Close()
	done := c.progress("compiling " + filepath.Base(source.Recipe.Module))
	facts, err := host.Precompile(ctx, engine, module, meter.DefaultTable().UnitsPerVector)
	done()
	var refused *host.RefusedError
	switch {
	case errors.As(err, &refused):
		return fail(exitFailed, fmt.Errorf("%s: %w", source.Recipe.Module, err), refused.Hint)
	case err != nil:
		return fail(exitFailed, err, "")
	case facts.SIMD && !slices.Contains(source.Recipe.Needs.Devices, joulebox.SIMD):
		return fail(exitFailed, fmt.Errorf("needs.devices: %s uses vector instructions, want Simd there", source.Recipe.Module), "")
	}
	return nil
}

func (c *console) showAdded(l shownLanguage) error {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(c.out, "%-9s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("language", "%s (%s)", l.Name, l.Version)
	line("id", "%s", l.ID)
	line("module", "%s", l.ModuleID)
	line("files", "%d, of %d bytes together", l.Files, l.Bytes)
	line("runs", "%s", strings.Join(append(slices.Clone(l.Extensions), l.Interpreters...), " "))
	return nil
}

// progress shows on a terminal that something goes on, until the function that it
// returns is called.
func (c *console) progress(what string) (done func()) {
	if !c.live {
		return func() {}
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		began, tick := time.Now(), time.NewTicker(200*time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				fmt.Fprint(c.err, "\r\x1b[K")
				return
			case <-tick.C:
				fmt.Fprintf(c.err, "\r%s %s, %d s", c.paint(dim, "joulebox:"), what, int(time.Since(began).Seconds()))
			}
		}
	}()
	return func() {
		close(stop)
		<-stopped
	}
}
