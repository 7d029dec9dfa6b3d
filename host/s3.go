package host

import "github.com/joulebox/joulebox"

// S3 is Partition: native code in namespaces of its own, with its own share of
// processor, memory and disk, and no network but what is granted (§2.2).
func S3() Executor { return nativeExecutor{joulebox.S3} }

// NativeS1 is Capability for native code that is trusted: no ambient authority,
// nothing reachable but what was handed over (§2.2). It takes the same partition:
// there is no weaker way to hold native code that would be worth having.
func NativeS1() Executor { return nativeExecutor{joulebox.S1} }

// RunsNative reports whether an executor is for native units. One for modules
// shares tier S1 with it.
func RunsNative(x Executor) bool {
	_, ok := x.(nativeExecutor)
	return ok
}
