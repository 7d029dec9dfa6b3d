package grant

import (
	"fmt"
	"net/netip"
)

func endpointReasons(list []string) map[string]string {
	m := make(map[string]string, len(list))
	for i, s := range list {
		m[s] = fmt.Sprintf("network.outbound[%d] %q", i, s)
	}
	return m
}

// MayEgress answers whether a unit may reach host:port (§5.3). It decides on
// what was asked for; MayReach decides on what a name resolved to.
func (e *Enforcer) MayEgress(endpoint string) Decision {
	if reason, ok := e.endpoints[endpoint]; ok {
		return allow(reason)
	}
	q, err := queryEndpoint(endpoint)
	if err != nil {
		return deny("", "endpoint: %v", err)
	}
	if reason, ok := e.endpoints[q.String()]; ok {
		return allow(reason)
	}
	return deny("network.outbound: "+q.String(), "%q is not on network.outbound", q)
}

// MayResolve answers whether a name may be looked up: resolving is egress of its
// own, so only names that are granted with some port are (§5.3).
func (e *Enforcer) MayResolve(name string) Decision {
	q, err := queryEndpoint(name + ":1")
	if err != nil || q.Addr.IsValid() {
		return deny("", "%q is no host name", name)
	}
	if e.names[q.Host] {
		return allow("network.outbound names " + q.Host)
	}
	return deny("network.outbound: "+q.Host+":443", "no endpoint of network.outbound names %q", q.Host)
}

// MayReach answers whether a granted endpoint may be dialled at an address that
// its name resolved to: never a loopback, private, link-local, metadata or
// reserved address, unless that address is granted itself with that port.
func (e *Enforcer) MayReach(endpoint string, addr netip.Addr) Decision {
	d := e.MayEgress(endpoint)
	if !d.Allowed {
		return d
	}
	q, err := queryEndpoint(endpoint)
	if err != nil {
		return deny("", "endpoint: %v", err)
	}
	addr = addr.Unmap()
	if q.Addr.IsValid() {
		if q.Addr == addr {
			return d
		}
		return deny("", "%v is another address than the granted %q", addr, q)
	}
	if kind := AddrClass(addr); kind != AddrPublic {
		return e.mayReachKind(q, addr, kind)
	}
	return d
}

func (e *Enforcer) mayReachKind(q Endpoint, addr netip.Addr, kind AddrKind) Decision {
	if !addr.IsValid() || addr.Zone() != "" {
		return deny("", "%q resolved to %v, which can't be granted", q, addr)
	}
	literal := Endpoint{Host: hostText(addr), Addr: addr, Port: q.Port}.String()
	if reason, ok := e.endpoints[literal]; ok {
		return allow(reason)
	}
	return deny("network.outbound: "+literal, "%q resolved to %v, a %v address that isn't granted itself", q, addr, kind)
}

func hostText(a netip.Addr) string {
	if a.Is6() {
		return "[" + a.String() + "]"
	}
	return a.String()
}

// MayListen answers whether inbound connections are accepted (§5.3).
func (e *Enforcer) MayListen() Decision {
	if e.inbound {
		return allow("network.inbound")
	}
	return deny("network.inbound: true", "network.inbound is false")
}

func originReasons(list []string) map[Origin]string {
	m := make(map[Origin]string, len(list))
	for i, s := range list {
		if o, err := ParseOrigin(s); err == nil {
			m[o] = fmt.Sprintf("browser.origins[%d] %q", i, s)
		}
	}
	return m
}

// MayNavigate answers whether a browser may go to an absolute URL (§5.6): its
// origin must be granted. Opaque origins (file, data, about, blob) never are.
func (e *Enforcer) MayNavigate(url string) Decision {
	if !e.browser.Enabled {
		return deny("browser.enabled: true", "browser.enabled is false")
	}
	o, err := OriginOf(url)
	if err != nil {
		return deny("", "navigation: %v", err)
	}
	if reason, ok := e.origins[o]; ok {
		return allow(reason)
	}
	return deny("browser.origins: "+o.String(), "%q is not on browser.origins", o)
}

// MayRender answers whether the browser may draw on a screen: enabled, and not
// headless (§5.6).
func (e *Enforcer) MayRender() Decision {
	switch {
	case !e.browser.Enabled:
		return deny("browser.enabled: true", "browser.enabled is false")
	case e.browser.Headless:
		return deny("browser.headless: false", "browser.headless forbids rendering on a screen")
	}
	return allow("browser.enabled")
}

// granted is the set of host names that some endpoint names.
func granted(list []string) map[string]bool {
	m := make(map[string]bool, len(list))
	for _, s := range list {
		if ep, err := ParseEndpoint(s); err == nil && !ep.Addr.IsValid() {
			m[ep.Host] = true
		}
	}
	return m
}
