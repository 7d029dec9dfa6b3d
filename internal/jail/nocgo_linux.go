//go:build !cgo && (amd64 || arm64)

package jail

func threadList() (int, error) { return -1, nil }
