package custody

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/disk"
)

// Key is an opened key: a crypto.Signer for Ed25519 and the source of its
// sequence numbers. It is safe for concurrent use. Close it to wipe the key from
// memory.
type Key struct {
	vault    *vault
	public   ed25519.PublicKey
	folder   disk.File
	sequence disk.File

	mu      sync.RWMutex       // guards what signing looks at
	private ed25519.PrivateKey // nil until derived
	seed    []byte             // until then
	refusal error              // why it signs nothing

	block chan struct{} // full while someone looks at what numbering looks at
	next  uint64        // the next number of the block
	end   uint64        // one past the block
	size  uint64        // of the next block
}

var _ crypto.Signer = (*Key)(nil)

// HostID is the id of the host that has this key: the content address of the 32
// bytes (§7.2).
func HostID(public ed25519.PublicKey) joulebox.ID { return joulebox.Sum(public) }

// Open opens the key that a reference names. Errors: ErrNoKey if there never was
// one, *LostError, *DamagedError, and one that says who else can read it.
//
// A key that may not sign, because it is a copy or was retired, is opened all
// the same, so that it can be shown; Check, Sign and Next then fail with
// *CopiedError or *RetiredError.
func Open(reference string) (*Key, error) {
	v, err := openVault(reference)
	if err != nil {
		return nil, err
	}
	return v.openNoted()
}

// openNoted opens a key and sees to it that its public key is noted.
func (v *vault) openNoted() (*Key, error) {
	k, err := v.openKey()
	if err != nil {
		return nil, err
	}
	if err := v.notePublic(k.public); err != nil {
		k.Close()
		return nil, err
	}
	return k, nil
}

// openKey opens the key and derives it.
func (v *vault) openKey() (*Key, error) { return v.openAs(nil) }

// openSoon is openNoted for who is going to use the key in a moment: where the
// counter says the same as the note, the key is derived when its first number is
// asked for, and whether it fits them is known then.
func (v *vault) openSoon() (*Key, error) {
	if noted, err := v.readPublic(); err == nil {
		if k, err := v.openAs(noted); err == nil {
			return k, nil
		}
	}
	return v.openNoted()
}

// openAs opens the key whose public key was noted; with nil that is derived first.
func (v *vault) openAs(noted ed25519.PublicKey) (*Key, error) {
	switch err := v.checkFolder(); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, v.missing()
	case err != nil:
		return nil, err
	}
	seed, err := v.readSeed()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &LostError{Path: v.base, Reason: "the folder is there, the key isn't"}
	}
	if err != nil {
		return nil, err
	}
	k := &Key{vault: v, seed: seed, public: noted, block: make(chan struct{}, 1), size: 1}
	if k.public == nil {
		if err := k.derive(); err != nil {
			return nil, err
		}
	}
	if err := k.attach(); err != nil {
		k.Close()
		return nil, err
	}
	return k, nil
}

// derive makes the key of its seed, and sees whether it is the one that it was
// taken for and signs as it should. That takes a millisecond and a half, most of it
// for tables that a process needs once, so it is done beside everything else where
// the public key is known without.
func (k *Key) derive() error {
	if done, why := k.derived(); done {
		return why
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.private != nil || k.refusal != nil {
		return k.refusal
	}
	private := ed25519.NewKeyFromSeed(k.seed)
	public := private.Public().(ed25519.PublicKey)
	if k.public == nil {
		k.public = public
	}
	clear(k.seed)
	k.seed = nil
	if !k.public.Equal(public) || !ed25519.Verify(public, nil, ed25519.Sign(private, nil)) {
		clear(private)
		k.refusal = &DamagedError{Path: k.vault.keyFile(), Reason: fmt.Sprintf("it is not the key %s whose numbers are beside it", HostID(k.public))}
		return k.refusal
	}
	k.private = private
	return nil
}

func (k *Key) derived() (done bool, why error) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.private != nil || k.refusal != nil, k.refusal
}

// deriving begins to derive, and returns what waits for it.
func (k *Key) deriving() func() error {
	if done, why := k.derived(); done {
		return func() error { return why }
	}
	derived := make(chan error, 1)
	go func() { derived <- k.derive() }()
	return func() error { return <-derived }
}

// attach finds the key's counter and whether it may be used.
func (k *Key) attach() (err error) {
	v := k.vault
	if k.folder, err = v.fs.Open(v.base, os.O_RDONLY); err != nil {
		return err
	}
	k.sequence, err = v.open(v.sequenceFile(), os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		return &DamagedError{Path: v.sequenceFile(), Reason: "the counter is gone"}
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	_, err = k.look(ctx)
	return err
}

// Public is the ed25519.PublicKey.
func (k *Key) Public() crypto.PublicKey { return k.public }

// HostID is the id of the host that has this key (§7.2).
func (k *Key) HostID() joulebox.ID { return HostID(k.public) }

// Check says whether the key may sign: nil, *CopiedError, *RetiredError or ErrClosed.
func (k *Key) Check() error {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.refusal
}

// Sign signs a message, not a digest of it, as Ed25519 does.
func (k *Key) Sign(rand io.Reader, message []byte, opts crypto.SignerOpts) ([]byte, error) {
	if err := k.derive(); err != nil {
		return nil, err
	}
	k.mu.RLock()
	defer k.mu.RUnlock()
	if k.refusal != nil {
		return nil, k.refusal
	}
	if opts != nil && opts.HashFunc() != 0 {
		return nil, errors.New("custody: sign: got a digest, want the message itself and crypto.Hash(0)")
	}
	return k.private.Sign(rand, message, crypto.Hash(0))
}

// refuse makes the key sign nothing from now on.
func (k *Key) refuse(why error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.refusal == nil {
		k.refusal = why
	}
}

// Close wipes the key from this Key's memory. Numbers that were reserved and not
// used are gone.
func (k *Key) Close() error {
	k.block <- struct{}{}
	defer k.unblock()
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.private)
	clear(k.seed)
	k.refusal = ErrClosed
	k.next, k.end = 0, 0
	var failed error
	for _, f := range []disk.File{k.folder, k.sequence} {
		if f != nil {
			failed = errors.Join(failed, f.Close())
		}
	}
	k.folder, k.sequence = nil, nil
	return failed
}
