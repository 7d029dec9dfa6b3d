package fleet

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"iter"

	"github.com/joulebox/joulebox/internal/jcs"
)

// AppendLine adds the leaf as one line of a list: its canonical JSON and a line feed.
func (l Leaf) AppendLine(b []byte) []byte {
	b = append(b, leafHead[1:]...)
	b = appendID(b, l.Attestation)
	b = append(b, leafMiddle...)
	b = appendID(b, l.Item)
	return append(append(b, leafTail...), '\n')
}

// maxLine is beyond any line of a list, whatever its layout.
const maxLine = 4096

// Leaves reads a list of leaves, one a line, in the order of the fleet. The first
// error ends the sequence.
func Leaves(r io.Reader) iter.Seq2[Leaf, error] {
	return func(yield func(Leaf, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(make([]byte, maxLine), maxLine)
		for n := 1; lines.Scan(); n++ {
			l, err := parseLeaf(lines.Bytes())
			if err != nil {
				err = fmt.Errorf("fleet: leaf on line %d: %w", n, err)
			}
			if !yield(l, err) || err != nil {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(Leaf{}, fmt.Errorf("fleet: list of leaves: %w", err))
		}
	}
}

func parseLeaf(line []byte) (l Leaf, err error) {
	// As a rule the line is as AppendLine writes it.
	if len(line) == leafBytes-1 {
		a, i := len(leafHead)-1, len(leafHead)-1+idText+len(leafMiddle)
		if l.Attestation.UnmarshalText(line[a:a+idText]) == nil && l.Item.UnmarshalText(line[i:i+idText]) == nil &&
			bytes.Equal(l.AppendLine(nil)[:leafBytes-1], line) {
			return l, l.Check()
		}
	}
	l = Leaf{}
	if err := jcs.Unmarshal(line, &l); err != nil {
		return Leaf{}, err
	}
	return l, l.Check()
}
