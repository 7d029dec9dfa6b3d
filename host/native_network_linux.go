package host

import (
	"context"
	"time"

	"github.com/joulebox/joulebox/internal/jail/cell"
	"github.com/joulebox/joulebox/internal/netstack"
)

// network is what the cell's first process sets a network up from: nothing where no
// connection is granted, since a unit without one has no network at all.
func (j Job) network(spec *cell.Spec) ([]byte, error) {
	outbound := j.Broker.config.Grants.Network.Outbound
	if !j.networked() {
		return nil, nil
	}
	spec.Files = append(spec.Files,
		cell.File{Path: "/etc/resolv.conf", Data: []byte(netstack.ResolvConf())},
		cell.File{Path: "/etc/hosts", Data: []byte(netstack.Hosts("unit"))},
		cell.File{Path: "/etc/nsswitch.conf", Data: []byte(netstack.NSSwitch())},
	)
	return netstack.SetupConfig(outbound)
}

// networked reports whether the unit has a network.
func (j Job) networked() bool {
	n := j.Broker.config.Grants.Network
	return j.Learner != nil || len(n.Outbound) > 0 || n.Inbound
}

// nowhere has what a unit without a network tries told.
func (r *nativeRun) nowhere(spec *cell.Spec) {
	if r.job.networked() {
		return
	}
	if r.job.Native.Root != nil { // an image may name servers of its own
		spec.Files = append(spec.Files, cell.File{Path: "/etc/resolv.conf", Data: []byte("nameserver 127.0.0.1\n")})
	}
	r.denying = netstack.NewNowhere(netstack.Config{Rules: r.job.Broker.enforcer, Record: r.flow})
	spec.Unreachable = r.denying.Deny
}

// serveNetwork begins to answer the unit's network. What it sent before waits in
// the device.
func (r *nativeRun) serveNetwork() (err error) {
	b := r.job.Broker
	if !r.job.networked() {
		if err := r.denying.Serve(r.cell.Network()); err != nil {
			return err
		}
		return r.serveInbound()
	}
	c := netstack.Config{Rules: b.enforcer, Outbound: b.config.Grants.Network.Outbound, Record: r.flow}
	if n, ok := b.config.Network.(netstack.Network); ok {
		c.Network = n
	}
	if l := r.job.Learner; l != nil {
		c.Rules, c.Open, c.Record = reach{l}, true, l.flow
	}
	if r.network, err = netstack.New(r.cell.Network(), c); err != nil {
		return err
	}
	return r.serveInbound()
}

// serveInbound begins to bring connections from outside to the unit, or closes what
// they would come to.
func (r *nativeRun) serveInbound() error {
	b := r.job.Broker
	for _, in := range b.config.Inbound {
		if d := b.enforcer.MayListen(); r.network == nil || !d.Allowed {
			b.deny(d)
			b.counts.connectionsDenied.Add(1)
			_ = in.Listener.Close()
			continue
		}
		if err := r.network.Listen(in.Listener, in.Port); err != nil {
			return err
		}
	}
	return nil
}

// flow notes a connection that was denied, for people; the count is the record's.
func (r *nativeRun) flow(f netstack.Flow) {
	if !f.Allowed {
		r.job.Broker.deny(f.Decision)
	}
}

// lastWords is how long what the unit had sent when it ended may take to get where it
// goes.
const lastWords = 5 * time.Second

// endNetwork ends the network once what was sent has left. A unit that was ended is
// not waited for, and none longer than its time.
func (r *nativeRun) endNetwork(ctx context.Context, end cell.End) error {
	if n := r.denying; n != nil {
		err := n.Close()
		r.job.Broker.counts.connectionsDenied.Add(uint64(n.Counts().Denied))
		return err
	}
	if r.network == nil {
		return nil
	}
	if left := min(lastWords, r.job.Limits.Wall-time.Since(r.begun)); end.Killed == "" && left > 0 {
		ctx, cancel := context.WithTimeout(ctx, left)
		defer cancel()
		_ = r.network.Drain(ctx) // what couldn't be sent on is lost, as with any machine that is switched off
	}
	err := r.network.Close()
	c := r.network.Counts()
	r.job.Broker.counts.connections.Add(uint64(c.Connections))
	r.job.Broker.counts.connectionsDenied.Add(uint64(c.Denied))
	return err
}
