package grant

import (
	"fmt"
	"slices"
	"strings"
)

// normalGlob cleans a glob's path ("/a//b/" is "/a/b") and refuses the rest.
func normalGlob(s string) (string, error) {
	clean := s
	if s != "" && s[0] == '/' && !strings.Contains(s+"/", "/../") {
		c, err := CanonicalPath(s)
		if err != nil {
			return "", err
		}
		clean = c
	}
	if _, err := ParseGlob(clean); err != nil {
		return "", err
	}
	return clean, nil
}

func normalOrigin(s string) (string, error) {
	o, err := NormalizeOrigin(s)
	if err != nil {
		return "", err
	}
	return o.String(), nil
}

// expandEndpoint normalizes an endpoint, or expands a preset such as "@npm" to
// the endpoints that it stands for today: only those are hashed.
func expandEndpoint(s string) ([]string, error) {
	if name, ok := strings.CutPrefix(s, "@"); ok {
		list, known := presets[name]
		if !known {
			return nil, fmt.Errorf("got %q, want one of %s", s, strings.Join(PresetNames(), ", "))
		}
		return list, nil
	}
	e, err := NormalizeEndpoint(s)
	if err != nil {
		return nil, err
	}
	return []string{e.String()}, nil
}

// presets name the endpoints that common package managers and forges need.
var presets = map[string][]string{
	"npm":    {"registry.npmjs.org:443"},
	"pypi":   {"pypi.org:443", "files.pythonhosted.org:443"},
	"go":     {"proxy.golang.org:443", "sum.golang.org:443"},
	"crates": {"index.crates.io:443", "static.crates.io:443", "crates.io:443"},
	"github": {"github.com:443", "api.github.com:443", "codeload.github.com:443", "objects.githubusercontent.com:443", "raw.githubusercontent.com:443"},
}

// PresetNames lists what may stand for endpoints in human input, as "@npm".
func PresetNames() []string {
	var names []string
	for n := range presets {
		names = append(names, "@"+n)
	}
	slices.Sort(names)
	return names
}

func textHint(human bool, s string) string {
	if !human {
		return ""
	}
	return fmt.Sprintf("; or write {text: %q}", s)
}

// suggest names the known member that is meant, if it is plain which.
func suggest(got string, known []string) string {
	for _, k := range known {
		if fold(k) == fold(got) {
			return fmt.Sprintf("; write %q", k)
		}
	}
	return "; want one of " + strings.Join(known, ", ")
}

// fold makes "maxIops" and "max-iops" one with "max_iops".
func fold(s string) string { return strings.ToLower(separators.Replace(s)) }

var separators = strings.NewReplacer("_", "", "-", "")
