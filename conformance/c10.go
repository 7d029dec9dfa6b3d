package conformance

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/fleet"
)

type c10Record struct {
	Count uint64      `json:"count"`
	Root  joulebox.ID `json:"root"`
}

type c10File struct {
	Class  string `json:"class"`
	Leaves []struct {
		Text string      `json:"text"`
		Hash joulebox.ID `json:"hash"`
	} `json:"leaves"`
	Records []c10Record   `json:"records"` // of the first count leaves
	Proofs  []fleet.Proof `json:"proofs"`
	Refused []struct {
		Why    string      `json:"why"`
		Leaf   int         `json:"leaf"`
		Proof  fleet.Proof `json:"proof"`
		Record int         `json:"record"` // by its count
	} `json:"refused"`
}

// c10 holds fleets to leaves, roots, proofs and forged proofs (§16).
func c10(r *results, src []byte) error {
	var f c10File
	if err := read(src, &f); err != nil {
		return err
	}
	leaves, err := f.leaves(r)
	if err != nil {
		return err
	}
	tree, builder := fleet.NewTree(), fleet.NewBuilder()
	for i, l := range leaves {
		if err := errorsOf(tree.Append(l), builder.Append(l)); err != nil {
			return err
		}
		want := fleet.Record{Root: f.Records[i].Root, Count: f.Records[i].Count}
		got, err := builder.Record()
		other, err2 := tree.Record()
		if err = errorsOf(err, err2); err == nil {
			err = errorsOf(same("record", got, want), same("record of the tree", other, want))
		}
		r.check(fmt.Sprintf("root of %d", i+1), err)
	}
	for _, p := range f.Proofs {
		got, err := tree.Prove(p.Index, p.Count)
		if err == nil && !slices.Equal(got.Path, p.Path) {
			err = fmt.Errorf("path: got %v, want %v", got.Path, p.Path)
		}
		r.check(fmt.Sprintf("leaf %d of %d", p.Index, p.Count), errorsOf(err, p.Verify(leaves[p.Index], f.record(int(p.Count)))))
	}
	for _, c := range f.Refused {
		r.check(c.Why, mustRefuse(c.Proof.Verify(leaves[c.Leaf], f.record(c.Record))))
	}
	return nil
}

func (f *c10File) record(count int) fleet.Record {
	return fleet.Record{Root: f.Records[count-1].Root, Count: f.Records[count-1].Count}
}

// leaves reads the leaves from their texts, and checks their hashes.
func (f *c10File) leaves(r *results) (list []fleet.Leaf, err error) {
	if len(f.Records) != len(f.Leaves) {
		return nil, fmt.Errorf("got %d leaves and %d records, want as many", len(f.Leaves), len(f.Records))
	}
	for i, c := range f.Leaves {
		for l, err := range fleet.Leaves(bytes.NewReader([]byte(c.Text + "\n"))) {
			if err != nil {
				return nil, err
			}
			r.check(fmt.Sprintf("leaf %d", i), errorsOf(same("hash", l.Hash(), c.Hash), same("text", string(l.AppendLine(nil)), c.Text+"\n")))
			list = append(list, l)
		}
	}
	return list, nil
}

func errorsOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}
