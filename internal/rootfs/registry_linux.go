package rootfs

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"

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
		if err := r.in(d.Context()); err != nil {
			return nil, "", err
		}
		return r, sum, r.credentials(ctx, o)
	}
	tag, err := name.NewTag(ref)
	if err != nil {
		return nil, "", fmt.Errorf("image: docker://%s: %w", ref, err)
	}
	if !o.Resolve {
		return nil, "", &TagError{ref}
	}
	if err := r.in(tag.Context()); err != nil {
		return nil, "", err
	}
	if err := r.credentials(ctx, o); err != nil {
		return nil, "", err
	}
	sum, err := r.resolve(ctx, tag.TagStr())
	return r, sum, err
}

// in takes a repository whose name is a path that stays as it is.
func (r *registry) in(repo name.Repository) error {
	if p := "/" + repo.RepositoryStr(); path.Clean(p) != p {
		return fmt.Errorf("image: docker://%s: repository: got %q, want a name without empty parts and dots", repo, repo.RepositoryStr())
	}
	r.repo = repo
	return nil
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
	if b, ok := r.store.document(d); ok {
		return io.NopCloser(bytes.NewReader(b)), nil
	}
	w := &download{registry: r, ctx: ctx, what: "blobs/" + string(d), left: maxResumed}
	return w, w.get()
}

func (r *registry) manifest(ctx context.Context, d digest) (io.ReadCloser, error) {
	if b, ok := r.store.document(d); ok {
		return io.NopCloser(bytes.NewReader(b)), nil
	}
	return r.get(ctx, "manifests/"+string(d))
}

// keep spares asking again: an image that is unpacked needs no registry. That it
// failed costs a request later.
func (r *registry) keep(document []byte) { _ = r.store.keepDocument(document) }

func (r *registry) get(ctx context.Context, what string) (io.ReadCloser, error) {
	resp, err := r.ask(ctx, what, 0)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// ask asks for something from a place on. Who answers may begin at the start all
// the same.
func (r *registry) ask(ctx context.Context, what string, from int64) (*http.Response, error) {
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
	want := []int{http.StatusOK}
	if from > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", from))
		want = append(want, http.StatusPartialContent)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, err
	}
	if err := transport.CheckError(resp, want...); err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}
