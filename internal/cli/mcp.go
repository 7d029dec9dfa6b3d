package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"github.com/spf13/cobra"

	"github.com/joulebox/joulebox/custody"
	"github.com/joulebox/joulebox/internal/mcp"
	"github.com/joulebox/joulebox/supervisor"
)

type mcpFlags struct {
	http      string
	policy    string
	tokenFile string
	hosts     []string
	origins   []string
	anywhere  bool
	verbose   bool
	host      hostProcess
}

func newMCP(c *console) *cobra.Command {
	var f mcpFlags
	cmd := &cobra.Command{
		Use:   "mcp [flags]",
		Short: "serve agents over the Model Context Protocol",
		Long: `Serves MCP clients: over standard input and output, or with --http over HTTP at
http://ADDR/mcp. An agent runs code with the grants that it names and gets the
output with a signed record of the run.

The policy is what any call may be granted at the most. Without one it is compute
within this host's defaults, a key-value store private to the run, the clock,
randomness and logging: no disk, no network, no other program.

Over HTTP a bearer token is always required. It comes from --token-file (one a
line; the file is made with a new token if it isn't there), from
JOULEBOX_MCP_TOKEN, or is made and shown on standard error.`,
		Args: needsNoMore,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.mcp(cmd.Context(), f) },
	}
	cmd.Flags().StringVar(&f.http, "http", "", "serve over HTTP on `ADDR`, like 127.0.0.1:8931; without a host it is this machine alone")
	cmd.Flags().StringVar(&f.policy, "policy", "", "read what calls may be granted from a JSON or YAML `FILE`")
	cmd.Flags().StringVar(&f.tokenFile, "token-file", "", "read bearer tokens from `FILE`, or put a new one there")
	cmd.Flags().StringArrayVar(&f.hosts, "allow-host", nil, "answer requests addressed to `NAME`, beside those of this machine")
	cmd.Flags().StringArrayVar(&f.origins, "allow-origin", nil, "answer requests from pages of `ORIGIN`, beside those of this machine")
	cmd.Flags().BoolVar(&f.anywhere, "plain-http-beyond-this-machine", false, "listen where others can reach it though tokens then travel unencrypted: put a TLS proxy before it")
	cmd.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "log each call on standard error")
	f.host.register(cmd.Flags())
	cmd.AddCommand(newMCPInstall(c))
	return cmd
}

// needsNoMore is NoArgs that knows of subcommands.
func needsNoMore(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return needsSubcommand(cmd, args)
}

func (c *console) mcp(ctx context.Context, f mcpFlags) error {
	if f.http == "" && (f.tokenFile != "" || len(f.hosts)+len(f.origins) > 0) {
		return fail(exitUsage, errors.New("--token-file, --allow-host and --allow-origin are for --http"), "add --http ADDR")
	}
	policy := mcp.DefaultPolicy()
	if f.policy != "" {
		var err error
		if policy, err = mcp.LoadPolicy(f.policy); err != nil {
			return fail(exitUsage, fmt.Errorf("--policy: %w", err), "")
		}
	}
	processes, pool, err := f.host.openPool()
	if err != nil {
		return fail(exitFailed, err, "")
	}
	h, err := openHouse(c, processes)
	if err != nil {
		return fail(exitFailed, err, "")
	}
	h.pool = pool
	defer h.closeSoon()
	s, err := h.mcpServer(c, policy, f)
	if err != nil {
		return fail(exitFailed, err, "")
	}
	defer s.Close()
	if f.http != "" {
		return c.mcpHTTP(ctx, s, f)
	}
	if err := s.ServeStdio(ctx, c.in, c.out); err != nil {
		return fail(exitFailed, err, "")
	}
	return nil
}

// closeTime is what is left of the second in which a server is gone once its client
// is: what isn't closed by then ends with the process.
const closeTime = 200 * time.Millisecond

func (h *house) closeSoon() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.close()
	}()
	select {
	case <-done:
	case <-time.After(closeTime):
	}
}

// mcpServer is the server over this house. One that is reached over HTTP serves
// several tenants (§2.4).
func (h *house) mcpServer(c *console, policy mcp.Policy, f mcpFlags) (*mcp.Server, error) {
	config := h.config()
	config.MultiTenant = f.http != ""
	run, err := supervisor.New(config)
	if err != nil {
		return nil, err
	}
	trusted, err := knownKeys()
	if err != nil {
		return nil, err
	}
	state, err := custody.StateDir()
	if err != nil {
		return nil, err
	}
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	languages, err := openLanguages()
	if err != nil {
		return nil, err
	}
	level := slog.LevelWarn
	if f.verbose {
		level = slog.LevelInfo
	}
	return mcp.New(mcp.Config{
		Supervisor: run, Records: h.store, Policy: policy, Trusted: trusted,
		Languages: languages, Native: nativeWorks(), MultiTenant: config.MultiTenant, Ceilings: config.Ceilings, Hidden: []string{state, cache},
		Log:     slog.New(slog.NewTextHandler(c.err, &slog.HandlerOptions{Level: level})),
		Version: readVersion().Version,
	})
}

func (c *console) mcpHTTP(ctx context.Context, s *mcp.Server, f mcpFlags) error {
	address, err := f.address()
	if err != nil {
		return fail(exitUsage, err, "")
	}
	tokens, err := c.mcpTokens(f.tokenFile)
	if err != nil {
		return fail(exitUsage, err, "")
	}
	handler, err := s.Handler(mcp.HTTPConfig{Tokens: tokens, Hosts: f.hosts, Origins: f.origins})
	if err != nil {
		return fail(exitFailed, err, "")
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return fail(exitFailed, err, "")
	}
	c.note("serving http://%s%s", l.Addr(), mcp.Path)
	if err := s.ServeHTTP(ctx, l, handler); err != nil {
		return fail(exitFailed, err, "")
	}
	return nil
}

// address is where to listen: this machine unless the operator insists.
func (f mcpFlags) address() (string, error) {
	name, port, err := net.SplitHostPort(f.http)
	if err != nil {
		return "", fmt.Errorf("--http: got %q, want an address and a port, like 127.0.0.1:8931", f.http)
	}
	if name == "" || name == "localhost" {
		name = "127.0.0.1"
	}
	ip, err := netip.ParseAddr(name)
	if (err != nil || !ip.IsLoopback()) && !f.anywhere {
		return "", fmt.Errorf("--http: %s can be reached from other machines, and tokens would travel unencrypted; listen on 127.0.0.1 behind a TLS proxy, or say --plain-http-beyond-this-machine", f.http)
	}
	return net.JoinHostPort(name, port), nil
}
