package cli

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
)

// tokenVariable holds a bearer token, which keeps it off the command line.
const tokenVariable = "JOULEBOX_MCP_TOKEN"

// minToken is shorter than any token of ours, and long enough not to be guessed.
const minToken = 20

// mcpTokens are the bearer tokens that are asked for: from the file, from the
// environment, or a new one.
func (c *console) mcpTokens(file string) ([]string, error) {
	if file != "" {
		return c.tokensOf(file)
	}
	if t := os.Getenv(tokenVariable); t != "" {
		if err := checkToken(t); err != nil {
			return nil, fmt.Errorf("%s: %w", tokenVariable, err)
		}
		return []string{t}, nil
	}
	t := rand.Text()
	c.note("bearer token for this run: %s", t)
	return []string{t}, nil
}

func checkToken(t string) error {
	if len(t) < minToken || strings.ContainsFunc(t, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fmt.Errorf("want a token of at least %d visible ASCII characters", minToken)
	}
	return nil
}

// tokensOf reads one token a line, or makes the file with a new one. Others than
// its owner must not be able to read it.
func (c *console) tokensOf(file string) ([]string, error) {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return c.makeToken(file)
	}
	if err != nil {
		return nil, fmt.Errorf("--token-file: %w", err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("--token-file: others can read %s; chmod 600 it, and change the token if they may have", file)
	}
	src, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--token-file: %w", err)
	}
	tokens := strings.Fields(string(src))
	if len(tokens) == 0 {
		return nil, fmt.Errorf("--token-file: %s holds no token; remove it, and one is made", file)
	}
	for i, t := range tokens {
		if err := checkToken(t); err != nil {
			return nil, fmt.Errorf("--token-file: token %d of %s: %w", i+1, file, err)
		}
	}
	return tokens, nil
}

func (c *console) makeToken(file string) ([]string, error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("--token-file: %w", err)
	}
	t := rand.Text()
	_, err = fmt.Fprintln(f, t)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("--token-file: %w", err)
	}
	c.note("made a bearer token in %s", file)
	return []string{t}, nil
}
