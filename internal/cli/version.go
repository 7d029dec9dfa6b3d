package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by a release build; a build from a checkout shows its revision.
var version = "devel"

func newVersion(c *console) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "version",
		Short: "show which joulebox this is",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := readVersion()
			if asJSON {
				return c.document(v)
			}
			fmt.Fprintf(c.out, "joulebox %s %s %s\n", v.Version, v.Go, v.Platform)
			return nil
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

type versionInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Standard string `json:"standard"`
}

func readVersion() versionInfo {
	v := versionInfo{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Standard: "Sandbox v0.1"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if v.Version == "devel" && info.Main.Version != "" && info.Main.Version != "(devel)" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Revision = s.Value
		}
	}
	return v
}
