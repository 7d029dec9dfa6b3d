// Package netstack is the network of a unit that has one of its own: a network
// namespace with a TUN device, and a TCP/IP stack in the host at the device's other
// end. What the unit sends there is no packet that leaves the machine. The stack
// ends each connection, asks the grants (§5.3), and opens a connection of its own to
// what they name. So a program needs no proxy settings, and an empty grant reaches
// nothing, whatever the program tries.
//
// [Setup] runs inside the new namespace and gives the device's descriptor; [New]
// runs in the host and serves it.
package netstack
