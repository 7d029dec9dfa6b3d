package mcp

import (
	"context"
	"fmt"
	"math"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/supervisor"
)

func (s *Server) runWasm(ctx context.Context, c *call) (*sdk.CallToolResult, error) {
	r, err := s.wasm(c.args)
	if err != nil {
		return nil, err
	}
	return s.run(ctx, c, "run_wasm", r)
}

// outputs are what a unit writes, as far as it is kept.
type outputs struct{ stdout, stderr, log *capture }

// run runs what was asked for and answers with its record.
func (s *Server) run(ctx context.Context, c *call, tool string, r asked) (*sdk.CallToolResult, error) {
	plan, err := s.config.Supervisor.Plan(r.request)
	if err != nil {
		return nil, planError(err)
	}
	out := outputs{newCapture(r.output), newCapture(r.output), newCapture(r.output)}
	r.handed.Stdout, r.handed.Stderr, r.handed.Log = out.stdout, out.stderr, out.log
	if c.session == nil {
		c.session = s.sessions.open(s.base, tenant(c.req))
	}
	rec, err := s.execute(ctx, c, plan, r.handed)
	if err != nil {
		return nil, err
	}
	return s.ran(c, tool, rec, out)
}

// planError is about what was asked for, whatever its type: planning looks at
// nothing else.
func planError(err error) error {
	if _, ok := asRefused(err); ok {
		return err
	}
	return refuse("", "%s", asArguments.Replace(err.Error()))
}

// execute waits for its turn and runs the plan, telling the caller of its progress.
func (s *Server) execute(ctx context.Context, c *call, plan *supervisor.Plan, handed host.BrokerConfig) (*supervisor.Record, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// A session that is over wants nothing run any more.
	defer context.AfterFunc(c.session.ctx, cancel)()
	p := s.progress(ctx, c, plan.Grants.Compute.CPUTimeMS)
	defer p.stop()
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	p.begin()
	return s.config.Supervisor.Run(ctx, plan, handed)
}

// runResult is the structured answer of the tools that run something.
type runResult struct {
	Status  string   `json:"status"`
	Stdout  stream   `json:"stdout"`
	Stderr  *stream  `json:"stderr,omitzero"`
	Log     *stream  `json:"log,omitzero"`
	Detail  string   `json:"detail,omitzero"`
	Denials []denial `json:"denials,omitempty"`
	Record  record   `json:",embed"`
	Session string   `json:"session,omitzero"`
}

type denial struct {
	Reason string `json:"reason"`
	Grant  string `json:"grant,omitzero"`
}

// ran verifies a record as a stranger would, remembers it for its session, and
// shows it. What doesn't verify is not handed out.
func (s *Server) ran(c *call, tool string, rec *supervisor.Record, out outputs) (*sdk.CallToolResult, error) {
	b := rec.Bundle
	report := b.Verify(bundle.Options{Pinned: s.config.Trusted[:1], Challenge: b.Unit().Challenge, MultiTenant: s.config.MultiTenant})
	r := runResult{Status: "ran", Detail: rec.Exit.Detail, Record: newRecord(b, report), Session: c.session.handle}
	r.Record.Bundle = s.bundleURI(c.session, b.Statement().ID())
	c.session.add(r.Record.brief(tool))
	c.log.Info("ran", "tool", tool, "tier", r.Record.Tier, "outcome", r.Record.Outcome, "breach", r.Record.Breach, "attestation", r.Record.ID, "wall_us", r.Record.Used.WallUS)
	if report.Verdict != bundle.Valid {
		return nil, refuse("don't use anything of it; the host's operator has the record", "the run %s was tampered with, so nothing of it is handed out: %s", r.Record.ID, r.Record.outcomeText(""))
	}
	r.Stdout, r.Stderr, r.Log = out.stdout.stream(), out.stderr.unlessEmpty(), out.log.unlessEmpty()
	for _, d := range rec.Denials {
		r.Denials = append(r.Denials, denial{asArguments.Replace(d.Reason), asArguments.Replace(d.Grant)})
	}
	return answer(r, r.content()...)
}

func (c *capture) unlessEmpty() *stream {
	if c.total == 0 {
		return nil
	}
	s := c.stream()
	return &s
}

// content is the result for a reader: what this server says, what the unit wrote,
// each stream apart, and where the whole record is.
func (r runResult) content() []sdk.Content {
	said := r.Record.text(r.Detail)
	for _, d := range r.Denials {
		said += "\ndenied: " + d.Reason
		if d.Grant != "" {
			said += "; what would allow it: " + d.Grant
		}
	}
	if r.Session != "" {
		said += "\nsession " + r.Session
	}
	content := []sdk.Content{block("%s", said)}
	for _, s := range []struct {
		name string
		of   *stream
	}{{"stdout", &r.Stdout}, {"stderr", r.Stderr}, {"log", r.Log}} {
		if s.of != nil && s.of.Bytes > 0 {
			content = append(content, block("%s", s.of.text(s.name)))
		}
	}
	return append(content, bundleLink(r.Record.Bundle, r.Record.ID))
}

// brief is what list_runs shows of a record.
func (r record) brief(tool string) ran {
	return ran{
		ID: r.ID, Receipt: r.Receipt, Unit: r.UnitID, Tool: tool, Tier: r.Tier, Outcome: r.Outcome, Breach: r.Breach, ExitCode: r.ExitCode, Cause: r.Cause,
		EstimatedUJ: r.Energy.EstimatedUJ, MeasuredUJ: r.Energy.MeasuredUJ, Finished: r.Finished, Bundle: r.Bundle,
	}
}

// progress tells the caller how a call goes, if it wants to know.
type progress struct {
	started chan struct{}
	stopped chan struct{}
	done    chan struct{}
}

// progressEvery is how often; a call shorter than that has none.
const progressEvery = time.Second

func (s *Server) progress(ctx context.Context, c *call, mostMS uint64) *progress {
	p := &progress{make(chan struct{}), make(chan struct{}), make(chan struct{})}
	token := c.req.Params.GetProgressToken()
	// A token that the SDK read through a float and harmed is nobody's; progress is
	// optional, so then there is none.
	if n, number := token.(float64); token == nil || number && (math.Abs(n) > 1<<53 || n != math.Trunc(n)) {
		close(p.done)
		return p
	}
	go func() {
		defer close(p.done)
		p.report(ctx, c, token, mostMS)
	}()
	return p
}

func (p *progress) begin() { close(p.started) }

// stop returns when nothing more is sent: a notification after the answer would
// be for a request that is no longer there.
func (p *progress) stop() {
	close(p.stopped)
	<-p.done
}

func (p *progress) report(ctx context.Context, c *call, token any, mostMS uint64) {
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	asked, started := time.Now(), p.started
	var began time.Time
	for {
		select {
		case <-p.stopped:
			return
		case <-ctx.Done():
			return
		case <-started:
			began, started = time.Now(), nil
		case <-tick.C:
			n := &sdk.ProgressNotificationParams{ProgressToken: token, Progress: time.Since(asked).Seconds(), Message: "waiting for its turn"}
			if !began.IsZero() {
				n.Message = fmt.Sprintf("running for %.0f s of at most %.0f s", time.Since(began).Seconds(), float64(mostMS)/1000)
			}
			if err := c.req.Session.NotifyProgress(ctx, n); err != nil {
				return // nobody listens any more
			}
		}
	}
}
