package host

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"io"

	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/internal/hostcall"
	"github.com/joulebox/joulebox/internal/wasi"
)

var hostRandom io.Reader = rand.Reader

// random fills p, or refuses: a unit is never handed something that only looks
// random.
func (b *Broker) random(ctx context.Context, p []byte) error {
	if d := b.enforcer.MayHost(grant.Random); !d.Allowed {
		b.deny(d)
		return wasi.EAcces
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	_, err := io.ReadFull(b.config.Random, p)
	return err
}

func (b *Broker) randomU64(ctx context.Context) (uint64, error) {
	var p [8]byte
	if err := b.random(ctx, p[:]); err != nil {
		if err == wasi.EAcces {
			return 0, hostcall.Denied
		}
		return 0, err
	}
	return binary.LittleEndian.Uint64(p[:]), nil
}
