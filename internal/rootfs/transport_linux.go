package rootfs

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

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
