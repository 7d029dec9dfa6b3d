package manifest

import "encoding/json/jsontext"

// Suggest is the part of a devcontainer.json that Ingest would accept, as indented
// JSON without its comments: the same file less everything that is refused. It is
// nil where that would leave no image, or where the file can't be read at all.
func Suggest(src []byte) []byte {
	j := judgeFile(src)
	if j.root == nil || j.root.kind != '{' || j.fields.Image == "" {
		return nil
	}
	out := jsontext.Value(j.write(nil, j.root))
	// Beyond what people read, spaces could make much of little.
	if len(out) < maxIndented && out.Indent(jsontext.WithIndent("  ")) != nil {
		return nil
	}
	return append(out, '\n')
}

const maxIndented = 64 << 10

// write adds a value less what was dropped, spelled as it is in the file.
func (j *judge) write(to []byte, n *node) []byte {
	switch n.kind {
	case '{':
		to = append(to, '{')
		for _, m := range n.members {
			if m.dropped {
				continue
			}
			to = append(to, j.text[m.at:closing(j.text, m.at)+1]...)
			to = append(j.write(append(to, ':'), m.value), ',')
		}
		return closeWith(to, '}')
	case '[':
		to = append(to, '[')
		for _, e := range n.elements {
			if !e.dropped {
				to = append(j.write(to, e), ',')
			}
		}
		return closeWith(to, ']')
	}
	return append(to, j.text[n.start:n.end]...)
}

// closeWith puts the bracket in place of the last comma, if there is one.
func closeWith(to []byte, bracket byte) []byte {
	if to[len(to)-1] == ',' {
		to = to[:len(to)-1]
	}
	return append(to, bracket)
}
