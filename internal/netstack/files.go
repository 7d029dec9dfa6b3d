package netstack

import "fmt"

// ResolvConf is the content of /etc/resolv.conf inside. The resolver answers at
// once, so one that doesn't has ended with the unit's network.
func ResolvConf() string {
	return fmt.Sprintf("nameserver %v\nnameserver %v\noptions timeout:2 attempts:2\n", resolverV4, resolverV6)
}

// Hosts is the content of /etc/hosts inside, for a unit with that host name.
func Hosts(hostname string) string {
	return fmt.Sprintf("127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n%v %s\n%v %s\n", unitV4, hostname, unitV6, hostname)
}

// NSSwitch is the content of /etc/nsswitch.conf inside: names come from the files
// and from the resolver above, never from a daemon of the host (nscd, sssd,
// systemd-resolved, mDNS), which would be egress that nothing decides.
func NSSwitch() string {
	return "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\nservices: files\nprotocols: files\nrpc: files\nethers: files\n"
}
