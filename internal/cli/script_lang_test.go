package cli_test

import (
	"encoding/json/v2"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdSameImage is "same-image ONE TWO": two records have one image id.
func cmdSameImage(ts *testscript.TestScript, neg bool, args []string) {
	var ids [2]string
	for i := range ids {
		var record struct {
			ImageID string `json:"image_id"`
		}
		ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[i])), &record))
		ids[i] = record.ImageID
	}
	if ids[0] == "" || (ids[0] == ids[1]) == neg {
		ts.Fatalf("image ids: got %s and %s", ids[0], ids[1])
	}
}

// cmdDamage is "damage FOLDER": changes one byte in the middle of every file.
func cmdDamage(ts *testscript.TestScript, _ bool, args []string) {
	for _, file := range filesOf(ts, args[0]) {
		data, err := os.ReadFile(file)
		ts.Check(err)
		if len(data) > 0 {
			data[len(data)/2] ^= 1
		}
		ts.Check(os.WriteFile(file, data, 0o600))
	}
}

// cmdEmpty is "empty FOLDER": nothing is in it.
func cmdEmpty(ts *testscript.TestScript, neg bool, args []string) {
	if files := filesOf(ts, args[0]); (len(files) == 0) == neg {
		ts.Fatalf("%s holds %v", args[0], files)
	}
}

func filesOf(ts *testscript.TestScript, dir string) []string {
	files, err := filepath.Glob(filepath.Join(ts.MkAbs(dir), "*"))
	ts.Check(err)
	return files
}
