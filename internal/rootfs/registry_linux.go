package rootfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// registry is a repository in a registry. Finding out how to log in is the
// library's part; what is asked for and what is taken for an answer is ours.
type registry struct {
	repo   name.Repository
	auth   authn.Authenticator
	store  *store
	client *http.Client // after the first request
}

var accepted = strings.Join([]string{ociIndex, ociManifest, dockerList, dockerImage}, ", ")

// TagError is a reference that doesn't say which bytes are meant.
type TagError struct{ Reference string }

func (e *TagError) Error() string {
	return fmt.Sprintf("image: docker://%s: names a tag, which can be another image tomorrow; want NAME@sha256:…", e.Reference)
}

// openRegistry reads a reference and, if it may, finds the digest of a tag.
func openRegistry(ctx context.Context, ref string, o Options, s *store) (*registry, digest, error) {
	r := &registry{auth: authn.Anonymous, store: s}
	if strings.Contains(ref, "@") {
		d, err := name.NewDigest(ref)
		if err != nil {
			return nil, "", fmt.Errorf("image: docker://%s: %w", ref, err)
		}
		sum, err := parseDigest(d.DigestStr())
		if err != nil {
			return nil, "", fmt.Errorf("image: docker://%s: digest: %w", ref, err)
		}
		r.repo = d.Context()
		return r, sum, r.credentials(ctx, o)
	}
	tag, err := name.NewTag(ref)
	if err != nil {
		return nil, "", fmt.Errorf("image: docker://%s: %w", ref, err)
	}
	if !o.Resolve {
		return nil, "", &TagError{ref}
	}
	r.repo = tag.Context()
	if err := r.credentials(ctx, o); err != nil {
		return nil, "", err
	}
	sum, err := r.resolve(ctx, tag.TagStr())
	return r, sum, err
}

func (r *registry) credentials(ctx context.Context, o Options) (err error) {
	if o.Auth {
		r.auth, err = authn.Resolve(ctx, authn.DefaultKeychain, r.repo)
	}
	return err
}

// resolve asks what a tag is now. The digest is that of the bytes that came.
func (r *registry) resolve(ctx context.Context, tag string) (digest, error) {
	body, err := r.get(ctx, "manifests/"+tag)
	if err != nil {
		return "", err
	}
	defer body.Close()
	b, err := io.ReadAll(io.LimitReader(body, maxDocument+1))
	if err != nil {
		return "", err
	}
	if len(b) > maxDocument {
		return "", &LimitError{"document bytes", int64(len(b)), maxDocument}
	}
	r.keep(b)
	return digestOf(b), nil
}

func (r *registry) open(ctx context.Context, d digest) (io.ReadCloser, error) {
	return r.known(ctx, d, "blobs/")
}

func (r *registry) manifest(ctx context.Context, d digest) (io.ReadCloser, error) {
	return r.known(ctx, d, "manifests/")
}

func (r *registry) known(ctx context.Context, d digest, kind string) (io.ReadCloser, error) {
	if b, ok := r.store.document(d); ok {
		return io.NopCloser(bytes.NewReader(b)), nil
	}
	return r.get(ctx, kind+string(d))
}

// keep spares asking again: an image that is unpacked needs no registry. That it
// failed costs a request later.
func (r *registry) keep(document []byte) { _ = r.store.keepDocument(document) }

func (r *registry) get(ctx context.Context, what string) (io.ReadCloser, error) {
	if err := r.connect(ctx); err != nil {
		return nil, err
	}
	// The scheme is the one that the registry was found to speak.
	u := url.URL{Scheme: "https", Host: r.repo.RegistryStr(), Path: "/v2/" + r.repo.RepositoryStr() + "/" + what}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", accepted)
	// A body that is packed on the way has no size to hold against.
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, err
	}
	if err := transport.CheckError(resp, http.StatusOK); err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp.Body, nil
}

// connect asks the registry how to log in, once.
func (r *registry) connect(ctx context.Context) error {
	if r.client != nil {
		return nil
	}
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.ResponseHeaderTimeout = time.Minute
	base.MaxResponseHeaderBytes = 1 << 20
	safe := onlySafe{base}
	t, err := transport.NewWithContext(ctx, r.repo.Registry, r.auth, transport.NewRetry(safe), []string{r.repo.Scope(transport.PullScope)})
	if err != nil {
		return err
	}
	r.client = &http.Client{Transport: t, CheckRedirect: r.redirect}
	return nil
}

const maxRedirects = 5

// redirect lets a registry send us to where its blobs lie, but not to what only
// this machine can reach.
func (r *registry) redirect(req *http.Request, via []*http.Request) error {
	if len(via) >= maxRedirects {
		return fmt.Errorf("registry: redirected %d times", len(via))
	}
	if req.URL.Host == r.repo.RegistryStr() {
		return nil
	}
	if addr, err := netip.ParseAddr(req.URL.Hostname()); err == nil && !addr.IsGlobalUnicast() || err == nil && addr.IsPrivate() {
		return fmt.Errorf("registry: redirected to %s, an address of this network", req.URL.Host)
	}
	return nil
}

// onlySafe lets nothing travel in the clear, but within this machine.
type onlySafe struct{ http.RoundTripper }

var errClear = errors.New("registry: wants http without TLS, which is for registries on this machine only")

func (t onlySafe) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != "https" && !loopback(req.URL.Hostname()) {
		return nil, errClear
	}
	return t.RoundTripper.RoundTrip(req)
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
