// Package plainyaml reads what people write in settings files: JSON, or a part of
// YAML that can be read in one way only.
package plainyaml

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"strconv"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// JSON is a settings file's text as JSON; only what is no JSON object is tried as
// YAML. Values are text, true, false, null and plain integers.
func JSON(src []byte) ([]byte, error) {
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	if jsontext.Value(src).IsValid() || bytes.HasPrefix(bytes.TrimSpace(src), []byte("{")) {
		return src, nil
	}
	return fromYAML(src)
}

// fromYAML writes one YAML document as JSON. The parts of YAML that surprise are
// refused: anchors, tags, names that are no plain words, names that are there
// twice, and numbers that versions of YAML read differently.
func fromYAML(src []byte) ([]byte, error) {
	l, err := yaml.NewLoader(bytes.NewReader(src), yaml.WithPlugin(loaderlimits.New(loaderlimits.AliasNone())))
	if err != nil {
		return nil, err
	}
	var doc, more yaml.Node
	if err := l.Load(&doc); errors.Is(err, io.EOF) {
		return []byte("{}"), nil
	} else if err != nil {
		return nil, fmt.Errorf("yaml: %w", err)
	}
	if err := l.Load(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("yaml: more than one document; keep one")
	}
	var out bytes.Buffer
	e := jsontext.NewEncoder(&out)
	if err := writeYAML(e, &doc, 0); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

const maxYAMLDepth = 16

func writeYAML(e *jsontext.Encoder, n *yaml.Node, depth int) error {
	at := func(format string, args ...any) error {
		return fmt.Errorf("line %d, column %d: %s", n.Line, n.Column, fmt.Sprintf(format, args...))
	}
	switch {
	case depth > maxYAMLDepth:
		return at("nested deeper than settings are")
	case n.Anchor != "" || n.Kind == yaml.AliasNode:
		return at("anchors and aliases aren't read here; write the value out")
	case n.Style&yaml.TaggedStyle != 0:
		return at("tags such as %s aren't read here; write the plain value", n.Tag)
	}
	switch n.Kind {
	case yaml.DocumentNode:
		if len(n.Content) != 1 {
			return at("want one value")
		}
		return writeYAML(e, n.Content[0], depth)
	case yaml.SequenceNode:
		return writeList(e, n, depth)
	case yaml.MappingNode:
		return writeMapping(e, n, depth)
	}
	return writeScalar(e, n, at)
}

func writeList(e *jsontext.Encoder, n *yaml.Node, depth int) error {
	if err := e.WriteToken(jsontext.BeginArray); err != nil {
		return err
	}
	for _, c := range n.Content {
		if err := writeYAML(e, c, depth+1); err != nil {
			return err
		}
	}
	return e.WriteToken(jsontext.EndArray)
}

func writeMapping(e *jsontext.Encoder, n *yaml.Node, depth int) error {
	if err := e.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" || key.Anchor != "" {
			return fmt.Errorf("line %d, column %d: got the member name %q, want a plain word", key.Line, key.Column, key.Value)
		}
		if err := e.WriteToken(jsontext.String(key.Value)); err != nil {
			return fmt.Errorf("line %d, column %d: %q is there twice; keep one", key.Line, key.Column, key.Value)
		}
		if err := writeYAML(e, n.Content[i+1], depth+1); err != nil {
			return err
		}
	}
	return e.WriteToken(jsontext.EndObject)
}

func writeScalar(e *jsontext.Encoder, n *yaml.Node, at func(string, ...any) error) error {
	switch n.ShortTag() {
	case "!!str":
		return e.WriteToken(jsontext.String(n.Value))
	case "!!null":
		return e.WriteToken(jsontext.Null)
	case "!!bool":
		if n.Value == "true" || n.Value == "false" {
			return e.WriteToken(jsontext.Bool(n.Value == "true"))
		}
	case "!!int":
		if v, err := strconv.ParseUint(n.Value, 10, 64); err == nil && strconv.FormatUint(v, 10) == n.Value {
			return e.WriteToken(jsontext.Uint(v))
		}
	}
	return at("got %s, want text, true, false or a plain integer", n.Value)
}
