package unit

import (
	"encoding/json/v2"
	"fmt"
)

// imageKind looks at what decides which members are allowed.
func imageKind(src []byte) (string, error) {
	var head struct {
		Schema string `json:"schema"`
		Kind   string `json:"kind"`
	}
	// The strict reading that follows refuses what this one lets pass.
	if err := json.Unmarshal(src, &head); err != nil {
		return "", err
	}
	if head.Schema != ImageSchema {
		return "", fmt.Errorf("schema: got %q, want %q", head.Schema, ImageSchema)
	}
	if head.Kind != Tree && head.Kind != Host {
		return "", fmt.Errorf("kind: got %q, want %q or %q", head.Kind, Tree, Host)
	}
	return head.Kind, nil
}
