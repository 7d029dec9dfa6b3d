package rootfs

import (
	"cmp"
	"context"
	"os"
	"runtime"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/unit"
)

// Options are how an image is opened.
type Options struct {
	// Store is the directory in which unpacked trees are kept, for all processes of one
	// user. It is made if it is missing, and must be that user's alone.
	Store string
	// StoreBytes is what its trees may take; those not used for longest go. One that is
	// in use stays. Zero is 20 GiB.
	StoreBytes int64
	// Platform is what the image must run on: "linux/arm64". Empty is this machine.
	Platform string
	Limits   Limits
	// Resolve lets a reference be a tag. Root.Reference then has the digest.
	Resolve bool
	// Auth lets credentials be taken from where docker and podman keep them, which may
	// run a program of the user's. Otherwise registries are asked without.
	Auth bool
	// Rehash reads the whole tree even if nothing shows that it changed.
	Rehash bool
}

const defaultStoreBytes = 20 << 30

func (o Options) platform() (platform, error) {
	return parsePlatform(cmp.Or(o.Platform, "linux/"+runtime.GOARCH))
}

// Root is a tree that native units are executed from.
type Root struct {
	// Image is what ID is taken over.
	Image unit.Image
	ID    joulebox.ID
	// Dir is the tree's top, open as O_PATH. Mount it read-only, with nosuid and nodev.
	Dir *os.File
	// Config is what a container image says of how it is run.
	Config Config
	// Reference is the image by its digest, where it has one: "name@sha256:…".
	Reference string
	// Path is where the tree lies.
	Path string
	// LeftOut counts what the image has and the tree hasn't.
	LeftOut LeftOut

	again func(context.Context) (joulebox.ID, error)
	close func() error
}

// Again addresses anew what is there now: if it isn't ID, what ran may have been
// something else (§7.5). Files whose state on the disk is as it was aren't read.
func (r *Root) Again(ctx context.Context) (joulebox.ID, error) { return r.again(ctx) }

// Close lets go of the tree, which may then be removed.
func (r *Root) Close() error { return r.close() }
