package rootfs

import "fmt"

// TagError is a reference that doesn't say which bytes are meant.
type TagError struct{ Reference string }

func (e *TagError) Error() string {
	return fmt.Sprintf("image: docker://%s: names a tag, which can be another image tomorrow; want NAME@sha256:…", e.Reference)
}
