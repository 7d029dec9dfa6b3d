package custody

import (
	"errors"
	"fmt"
)

// Adopt makes a copied key sign where it is now, on the caller's word that the
// original is gone for good. Its numbers go on far beyond any that the original
// can have used since the copy. It fails if the key isn't a copy.
func Adopt(reference string) (*Key, error) {
	v, err := openVault(reference)
	if err != nil {
		return nil, err
	}
	return v.adopt()
}

func (v *vault) adopt() (*Key, error) {
	err := v.locked(func() error {
		k, err := v.openKey()
		if err != nil {
			return err
		}
		defer k.Close()
		return k.rewrite(k.adopted)
	})
	if err != nil {
		return nil, err
	}
	return v.openKey()
}

func (k *Key) adopted(c counters, now place) (counter, error) {
	var copied *CopiedError
	why := k.vault.usable(c, now)
	if why == nil {
		return counter{}, fmt.Errorf("custody: %s is no copy: there is nothing to adopt", k.vault.base)
	}
	if !errors.As(why, &copied) {
		return counter{}, why
	}
	next, _, ok := c.advance(adoptJump)
	if !ok {
		return counter{}, &ExhaustedError{Path: k.vault.base}
	}
	next.place = now
	return next, nil
}
