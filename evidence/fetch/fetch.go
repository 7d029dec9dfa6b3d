// Package fetch gets collateral from vendors' services into a folder. It is the
// one package under evidence that reaches the network, and nothing that verifies
// imports it.
package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/joulebox/joulebox/evidence"
)

// The bounds on an answer.
const (
	maxAnswer = 32 << 20
	patience  = 30 * time.Second
)

// Client fetches. The zero Client asks the vendors themselves.
type Client struct {
	// Mirror, if set, is asked in the vendors' place, under the vendors' own paths
	// and queries; its scheme may be http for a mirror on this machine.
	Mirror *url.URL
	HTTP   *http.Client // nil is one without cookies that follows no redirect elsewhere
}

// Fetch gets every source, and then writes them all: a folder isn't left with
// half of what belongs together. It returns the files' names.
func (c *Client) Fetch(ctx context.Context, sources []evidence.Source, dir string) (names []string, err error) {
	files := map[string][]byte{}
	for _, s := range sources {
		if err := c.one(ctx, s, files); err != nil {
			return nil, fmt.Errorf("%s: %w", s.File, err)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	for _, s := range sources {
		for _, name := range []string{s.File, s.HeaderFile} {
			if files[name] == nil {
				continue
			}
			if err := replace(filepath.Join(dir, name), files[name]); err != nil {
				return names, err
			}
			names = append(names, name)
		}
	}
	return names, nil
}

func (c *Client) one(ctx context.Context, s evidence.Source, files map[string][]byte) error {
	target, err := c.target(s.URL)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return err
	}
	answer, err := c.client().Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", target, answer.Status)
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	if err != nil {
		return err
	}
	if len(body) == 0 || len(body) > maxAnswer {
		return fmt.Errorf("%s answers with %d bytes, want 1 to %d", target, len(body), maxAnswer)
	}
	files[s.File] = body
	if s.Header == "" || answer.Header.Get(s.Header) == "" {
		return nil
	}
	pem, err := url.QueryUnescape(answer.Header.Get(s.Header))
	if err != nil {
		return fmt.Errorf("%s: header %s: %w", target, s.Header, err)
	}
	files[s.HeaderFile] = []byte(pem)
	return nil
}

// target is the address to ask: the vendor's, by https, or the mirror's.
func (c *Client) target(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil {
		return "", err
	}
	if u.Scheme != "https" {
		return "", fmt.Errorf("%s: want https", text)
	}
	if c.Mirror != nil {
		u.Scheme, u.Host, u.User = c.Mirror.Scheme, c.Mirror.Host, nil
		u.Path = c.Mirror.Path + u.Path
	}
	return u.String(), nil
}

func (c *Client) client() *http.Client {
	if c.HTTP != nil {
		return c.HTTP
	}
	return &http.Client{CheckRedirect: func(next *http.Request, via []*http.Request) error {
		if next.URL.Host != via[0].URL.Host || next.URL.Scheme != via[0].URL.Scheme || len(via) > 3 {
			return errors.New("redirected elsewhere")
		}
		return nil
	}}
}

// replace writes a file whole or not at all.
func replace(name string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".fetch-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(content)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
