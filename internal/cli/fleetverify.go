package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/fleet"
)

type fleetVerifyFlags struct {
	keys   []string
	leaves string
	asJSON bool
}

func newFleetVerify(c *console) *cobra.Command {
	var f fleetVerifyFlags
	cmd := &cobra.Command{
		Use:   "verify FILE [BUNDLE...]",
		Short: "check a proof, a record or a whole fleet offline",
		Long: `Checks a proof that fleet prove made, a signed record, or the folder of a fleet run,
against the keys that you trust: --key, the keys of joulebox key trust, or this
host's own. Each BUNDLE is verified too, and that it is the run of the proof, or one
of the runs that the record commits to.

A folder is checked whole: the record, that the leaves lead to its root, and every
bundle.

Exits with 0 when all is genuine, 1 when a check failed, 2 on a usage error, 3 when
nothing fails and something that trust needs is missing.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return c.fleetVerify(f, args[0], args[1:]) },
	}
	keyFlag(cmd, &f.keys)
	cmd.Flags().StringVar(&f.leaves, "leaves", "", "check that the leaves in `FILE` lead to the record's root")
	jsonFlag(cmd, &f.asJSON)
	return cmd
}

func (c *console) fleetVerify(f fleetVerifyFlags, file string, bundles []string) error {
	keys, err := pinnedKeys(f.keys)
	if err != nil {
		return fail(exitUsage, err, "")
	}
	o := newCheckedObject(file)
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		f.leaves = filepath.Join(file, leavesFile)
		if bundles, err = bundlesIn(file, bundles); err != nil {
			return fail(exitUsage, err, "")
		}
		file = filepath.Join(file, recordFile)
	}
	src, err := os.ReadFile(file)
	if err != nil {
		return fail(exitUsage, err, "")
	}
	o.fleet(src, f.leaves, bundles, keys)
	return c.showChecked(o, f.asJSON)
}

func bundlesIn(dir string, named []string) ([]string, error) {
	kept, err := filepath.Glob(filepath.Join(dir, "bundles", "*.json"))
	return append(kept, named...), err
}

// fleet checks a proof or a record, and what is laid beside it.
func (o *checkedObject) fleet(src []byte, leaves string, bundles []string, keys []bundle.Key) {
	m, err := fleet.ParseMembership(src)
	if err == nil {
		o.membership(m, bundles, keys)
		return
	}
	signed, recordErr := fleet.ParseSigned(src)
	if recordErr != nil {
		o.check("form", errors.Join(fmt.Errorf("as a proof: %w", err), fmt.Errorf("as a record: %w", recordErr)), "")
		return
	}
	o.check("form", nil, "a signed fleet record, closed members")
	o.record(signed, keys)
	if leaves == "" {
		o.Notes = append(o.Notes, "which runs the record commits to was not checked: --leaves names them")
		if len(bundles) > 0 {
			o.add("bundles", bundle.Unknown, "whether they are of the fleet can't be said without --leaves")
		}
		return
	}
	list, ok := o.leaves(leaves, signed.Record)
	if ok {
		o.bundles(bundles, list, keys)
	}
}

func (o *checkedObject) record(s fleet.Signed, keys []bundle.Key) {
	o.ID = s.Record.Root
	o.signer(s.Seal.PublicKeyHex, keys)
	o.check("seal", s.VerifyClaimed(), "Ed25519 over the canonical JSON, and its SHA-256")
}

func (o *checkedObject) membership(m fleet.Membership, bundles []string, keys []bundle.Key) {
	o.check("form", nil, "a proof with its fleet's signed record, closed members")
	o.record(m.Fleet, keys)
	o.check("proof", m.Proof.Verify(m.Leaf, m.Fleet.Record), fmt.Sprintf("leaf %d of %d, by %d hashes, leads to root %s", m.Proof.Index, m.Proof.Count, len(m.Proof.Path), m.Fleet.Record.Root))
	o.Notes = append(o.Notes, "item "+m.Leaf.Item.String(), "attestation "+m.Leaf.Attestation.String())
	if len(bundles) == 0 {
		o.Notes = append(o.Notes, "the run itself was not checked: lay its bundle beside the proof")
	}
	o.bundles(bundles, []joulebox.ID{m.Leaf.Attestation}, keys)
}

// leaves checks that a list leads to the record's root, and gives its attestations,
// sorted.
func (o *checkedObject) leaves(path string, want fleet.Record) ([]joulebox.ID, bool) {
	tree := fleet.NewBuilder()
	var list []joulebox.ID
	for l, err := range fileLeaves(path) {
		if err == nil {
			err = tree.Append(l)
		}
		if err != nil {
			return nil, o.check("leaves", err, "")
		}
		list = append(list, l.Attestation)
	}
	got, err := tree.Record()
	if err == nil && got != want {
		err = fmt.Errorf("%d leaves lead to root %s, want %d and %s: a leaf was changed, moved, added or removed", got.Count, got.Root, want.Count, want.Root)
	}
	slices.SortFunc(list, compareIDs)
	return list, o.check("leaves", err, fmt.Sprintf("all %d lead to root %s", got.Count, got.Root))
}

func compareIDs(a, b joulebox.ID) int { return slices.Compare(a[:], b[:]) }

// maxTold bounds how many bundles are named that fail.
const maxTold = 20

// bundles verifies bundles on all processors, and that each is of the fleet.
func (o *checkedObject) bundles(files []string, attestations []joulebox.ID, keys []bundle.Key) {
	if len(files) == 0 {
		return
	}
	reports := make([]memberReport, len(files))
	var wait sync.WaitGroup
	next := make(chan int)
	for range min(runtime.NumCPU(), len(files)) {
		wait.Go(func() {
			for i := range next {
				reports[i] = verifyMember(files[i], attestations, keys)
			}
		})
	}
	for i := range files {
		next <- i
	}
	close(next)
	wait.Wait()
	o.sumUp(files, reports, len(attestations))
}

type memberReport struct {
	err    error // it fails
	gap    string
	member joulebox.ID
}

func verifyMember(file string, attestations []joulebox.ID, keys []bundle.Key) (r memberReport) {
	b, err := readBundle(file)
	if err != nil {
		return memberReport{err: err}
	}
	report := b.Verify(bundle.Options{Pinned: keys, Challenge: b.Unit().Challenge})
	r.member = b.Statement().ID()
	if report.Verdict == bundle.Invalid {
		r.err = errors.New("INVALID: " + names(report.Failures()))
	} else if _, found := slices.BinarySearchFunc(attestations, r.member, compareIDs); !found {
		r.err = fmt.Errorf("attestation %s isn't of the fleet", r.member)
	} else if report.Verdict == bundle.Incomplete {
		r.gap = names(report.Missing())
	}
	return r
}

func (o *checkedObject) sumUp(files []string, reports []memberReport, leaves int) {
	bad, gaps, members := 0, 0, map[joulebox.ID]bool{}
	for i, r := range reports {
		switch {
		case r.err != nil:
			if bad++; bad <= maxTold {
				o.add("bundle", bundle.Fail, fmt.Sprintf("%s: %v", files[i], r.err))
			}
		case r.gap != "":
			if gaps++; gaps <= maxTold {
				o.add("bundle", bundle.Unknown, fmt.Sprintf("%s: %s", files[i], r.gap))
			}
		}
		members[r.member] = true
	}
	delete(members, joulebox.ID{})
	if bad+gaps == 0 {
		o.add("bundles", bundle.Pass, fmt.Sprintf("all %d verify and are of the fleet", len(files)))
	}
	if len(members) < leaves {
		o.Notes = append(o.Notes, fmt.Sprintf("%d of %d runs have their bundle here", len(members), leaves))
	}
}
