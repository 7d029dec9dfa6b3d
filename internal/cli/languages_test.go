package cli_test

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestLanguages runs scripts on the real interpreters that are kept on this
// machine, in $JOULEBOX_LANG_DIR or else where joulebox lang add keeps them; and
// the examples of other languages, built by what compilers there are.
func TestLanguages(t *testing.T) {
	kept, cache := languageDir(t), t.TempDir()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/languages",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                withBuild(),
		Setup: func(env *testscript.Env) error {
			if err := setup(env); err != nil {
				return err
			}
			env.Setenv("XDG_CACHE_HOME", cache) // compiled once for all
			data := filepath.Join(env.WorkDir, ".data", "joulebox")
			if err := os.MkdirAll(data, 0o700); err != nil {
				return err
			}
			return os.Symlink(kept, filepath.Join(data, "lang"))
		},
		Condition: func(name string) (bool, error) {
			if build, ok := toolchains[name]; ok {
				return build("") != nil, nil
			}
			_, err := os.Stat(filepath.Join(kept, "names", name+".json"))
			if errors.Is(err, fs.ErrNotExist) {
				return false, nil
			}
			return err == nil, err
		},
	})
}

func withBuild() map[string]func(*testscript.TestScript, bool, []string) {
	all := maps.Clone(commands)
	all["build"] = cmdBuild
	return all
}

func languageDir(t *testing.T) string {
	if dir := os.Getenv("JOULEBOX_LANG_DIR"); dir != "" {
		return dir
	}
	data := os.Getenv("XDG_DATA_HOME")
	if data == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			t.Skip("no language here: JOULEBOX_LANG_DIR isn't set, and there is no home:", err)
		}
		data = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(data, "joulebox", "lang")
}
