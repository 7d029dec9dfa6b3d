package cli

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/internal/plainyaml"
)

// profile is what a project says that its programs need. It grants nothing by
// lying there: it applies where it is named, and only once someone has looked at
// these very bytes and trusted them.
type profile struct {
	id     joulebox.ID // of the file's bytes
	grants grant.Set
	profileFile
}

// profileFile is a profile as it is written, in JSON or YAML.
type profileFile struct {
	Grants  jsontext.Value `json:"grants"`
	Mounts  []profileMount `json:"mounts"`
	Env     []string       `json:"env"`
	Image   string         `json:"image"`
	WorkDir string         `json:"workdir"`
}

// profileMount is a mount; Host may be relative to the profile's own folder.
type profileMount struct {
	Host  string `json:"host"`
	Guest string `json:"guest"`
}

// maxProfile is far more than grants and mounts are.
const maxProfile = 1 << 20

// readProfile reads a profile, trusted or not.
func readProfile(name string) (*profile, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxProfile || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: want a file of at most %s", name, formatBytes(maxProfile))
	}
	src, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	p, err := parseProfile(src)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	dir, err := filepath.Abs(filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	for i, m := range p.Mounts {
		if !filepath.IsAbs(m.Host) {
			p.Mounts[i].Host = filepath.Join(dir, m.Host)
		}
	}
	return p, nil
}

func parseProfile(src []byte) (*profile, error) {
	text, err := plainyaml.JSON(src)
	if err != nil {
		return nil, err
	}
	p := &profile{id: joulebox.Sum(src)}
	if err := json.Unmarshal(text, &p.profileFile, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("want the members grants, mounts, env, image and workdir: %w", err)
	}
	if len(p.Grants) == 0 {
		p.Grants = jsontext.Value("{}")
	}
	if p.grants, err = grant.ParseHuman(p.Grants, defaultBudgets); err != nil {
		return nil, fmt.Errorf("grants: %w", err)
	}
	for i, m := range p.Mounts {
		if m.Host == "" || !filepath.IsAbs(m.Guest) {
			return nil, fmt.Errorf("mounts[%d]: got host %q and guest %q, want a folder and an absolute guest path", i, m.Host, m.Guest)
		}
	}
	if p.WorkDir != "" && !filepath.IsAbs(p.WorkDir) {
		return nil, fmt.Errorf("workdir: got %q, want an absolute path as the unit sees it", p.WorkDir)
	}
	return p, nil
}

// useProfile reads the profile that --profile names, which has to be trusted.
func useProfile(name string) (*profile, error) {
	p, err := readProfile(name)
	if err != nil {
		return nil, fail(exitDecline, fmt.Errorf("--profile: %w", err), "")
	}
	trusted, err := readTrustedProfiles()
	if err != nil {
		return nil, fail(exitDecline, err, "")
	}
	if trusted.find(p.id) < 0 {
		return nil, fail(exitDenied, fmt.Errorf("--profile: %s isn't trusted as it is now (%s)", name, short(p.id)),
			"joulebox profile trust "+name+" shows what it grants, and trusts it")
	}
	return p, nil
}

// apply puts a profile beneath the flags, which add to it.
func (f *runFlags) apply(p *profile) {
	f.base = &p.grants
	for _, m := range p.Mounts {
		f.mounts = append(f.mounts, m.Host+":"+m.Guest)
	}
	f.env = append(append([]string(nil), p.Env...), f.env...)
	if f.image == "" {
		f.image = p.Image
	}
	if f.workDir == "" {
		f.workDir = p.WorkDir
	}
}

var errTwoBases = errors.New("--profile and --grants both say what the flags add to; name one")
