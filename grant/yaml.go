package grant

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// humanTree reads JSON if the text is JSON, else YAML. Only text that is no
// JSON at all is tried as YAML ("{compute: {…}}"), so no text has two readings.
func humanTree(src []byte) (*node, error) {
	if !bytes.HasPrefix(bytes.TrimLeft(src, " \t\r\n"), []byte("{")) {
		return yamlTree(src)
	}
	n, err := jsonTree(src)
	if _, broken := errors.AsType[*syntaxError](err); broken {
		if n, yamlErr := yamlTree(src); yamlErr == nil {
			return n, nil
		}
	}
	return n, err
}

// yamlTree reads one YAML document without the parts of YAML that surprise:
// anchors, aliases, tags and merge keys are refused.
func yamlTree(src []byte) (*node, error) {
	l, err := yaml.NewLoader(bytes.NewReader(src), yaml.WithPlugin(loaderlimits.New(loaderlimits.AliasNone())))
	if err != nil {
		return nil, err
	}
	var doc, more yaml.Node
	if err := l.Load(&doc); err == io.EOF {
		return &node{kind: kindNull}, nil // an empty file grants nothing
	} else if err != nil {
		return nil, fmt.Errorf("yaml: %w", err)
	}
	if err := l.Load(&more); err != io.EOF {
		return nil, fmt.Errorf("yaml: more than one document; keep one")
	}
	if doc.Kind == yaml.DocumentNode && len(doc.Content) == 1 {
		return yamlNode(doc.Content[0], 0)
	}
	return yamlNode(&doc, 0)
}

func yamlNode(y *yaml.Node, depth int) (*node, error) {
	n := &node{kind: kindOther, text: y.Value, at: place{line: y.Line, column: y.Column}}
	switch {
	case depth > maxTreeDepth:
		return nil, &placeError{n.at, "nested deeper than grants are"}
	case y.Anchor != "" || y.Kind == yaml.AliasNode:
		return nil, &placeError{n.at, "anchors and aliases aren't read here; write the value out"}
	case y.Style&yaml.TaggedStyle != 0:
		return nil, &placeError{n.at, "tags such as " + y.Tag + " aren't read here; write the plain value"}
	}
	switch y.Kind {
	case yaml.ScalarNode:
		n.scalar(y)
	case yaml.SequenceNode:
		n.kind = kindList
		for _, c := range y.Content {
			child, err := yamlNode(c, depth+1)
			if err != nil {
				return nil, err
			}
			n.list = append(n.list, child)
		}
	case yaml.MappingNode:
		return n, n.mapping(y, depth)
	}
	return n, nil
}

func (n *node) mapping(y *yaml.Node, depth int) error {
	n.kind, n.members = kindObject, map[string]*node{}
	for i := 0; i+1 < len(y.Content); i += 2 {
		key, err := yamlNode(y.Content[i], depth+1)
		if err != nil {
			return err
		}
		if key.kind != kindString {
			return &placeError{key.at, fmt.Sprintf("got the member name %q, want a plain word", key.text)}
		}
		if _, twice := n.members[key.text]; twice {
			return &placeError{key.at, fmt.Sprintf("%q is there twice; keep one", key.text)}
		}
		if n.members[key.text], err = yamlNode(y.Content[i+1], depth+1); err != nil {
			return err
		}
		n.names = append(n.names, key.text)
	}
	return nil
}

// scalar takes only spellings that no version of YAML reads otherwise: "yes" is
// no boolean, 010 and 1_000 are no integers. A quoted scalar is a string.
func (n *node) scalar(y *yaml.Node) {
	switch y.ShortTag() {
	case "!!str":
		n.kind = kindString
	case "!!null":
		n.kind, n.text = kindNull, "null"
	case "!!bool":
		if y.Value == "true" || y.Value == "false" {
			n.kind, n.bool = kindBool, y.Value == "true"
		}
	case "!!int":
		n.number(strings.TrimSpace(y.Value))
	}
}
