package mcp

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

// tokens knows bearer tokens by their digests, so that how long a look takes says
// nothing of them.
type tokens [][sha256.Size]byte

func newTokens(list []string) (t tokens) {
	for _, text := range list {
		t = append(t, sha256.Sum256([]byte(text)))
	}
	return t
}

// verify looks at every token, found or not.
func (t tokens) verify(_ context.Context, text string, _ *http.Request) (*auth.TokenInfo, error) {
	got, found := sha256.Sum256([]byte(text)), 0
	for i := range t {
		found |= subtle.ConstantTimeCompare(got[:], t[i][:])
	}
	if found == 0 {
		return nil, auth.ErrInvalidToken
	}
	return &auth.TokenInfo{UserID: hex.EncodeToString(got[:8])}, nil
}

// require turns away who has no token, with the challenge that RFC 6750 asks for.
func (t tokens) require(next http.Handler) http.Handler {
	const challenge = "WWW-Authenticate"
	known := auth.RequireBearerToken(t.verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})
	inside := known(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Del(challenge)
		next.ServeHTTP(w, r)
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(challenge, "Bearer")
		inside.ServeHTTP(w, r)
	})
}

// tenantIn is whom a request comes from, by its token.
func tenantIn(r *http.Request) string {
	if info := auth.TokenInfoFromContext(r.Context()); info != nil {
		return info.UserID
	}
	return ""
}

// gate turns away requests that a page in somebody's browser could have made: by a
// name that was pointed at this machine, or from another origin.
type gate struct {
	hosts, origins []string
}

func newGate(c HTTPConfig) gate {
	return gate{hosts: lowered(c.Hosts), origins: lowered(c.Origins)}
}

func lowered(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = strings.ToLower(s)
	}
	return out
}

func (g gate) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !g.mayHost(r.Host):
			http.Error(w, "forbidden: this server isn't addressed by that Host", http.StatusForbidden)
		case !g.mayOrigin(r.Header.Values("Origin")):
			http.Error(w, "forbidden: not from that Origin", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func (g gate) mayHost(host string) bool {
	name := hostName(host)
	return ofThisMachine(name) || slices.Contains(g.hosts, name)
}

// mayOrigin: no Origin is no browser. One that is there must be known, each of them.
func (g gate) mayOrigin(origins []string) bool {
	for _, o := range origins {
		u, err := url.Parse(o)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return false
		}
		if !ofThisMachine(hostName(u.Host)) && !slices.Contains(g.origins, strings.ToLower(o)) {
			return false
		}
	}
	return true
}

// hostName is the name without the port, lower-case.
func hostName(hostport string) string {
	if name, _, err := net.SplitHostPort(hostport); err == nil {
		hostport = name
	}
	return strings.ToLower(strings.Trim(hostport, "[]"))
}

// ofThisMachine: the names that no DNS can point elsewhere.
func ofThisMachine(name string) bool {
	if name == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.Unmap().IsLoopback()
}
