// Package kvm runs machines that have no kernel in them, on Linux's /dev/kvm.
//
// A [Machine] is one virtual processor and a few areas of memory. It begins in
// long mode at ring 3 and has no other ring to go to: there is no interrupt table,
// no segment table, no system call entry, and the page tables lie where no guest
// address leads. What such a guest can do is compute in its areas, and:
//
//	write to the doorbell page    [Door]: it wants something of the host
//	reach past an area's end      [Beyond]: the area is named
//	anything else that isn't plain computing: a fault, a system call, a port, a
//	privileged instruction        [Shutdown]: the machine is over
//	never come back               [Machine.Interrupt] ends it from outside
//
// None of these reaches anything of the host but the caller of [Machine.Run]. What
// the doorbell means is the caller's own; the guest's memory is looked at through
// [Machine.Bytes], which gives out nothing that isn't the guest's.
package kvm
