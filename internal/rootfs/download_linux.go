package rootfs

import (
	"context"
	"io"
	"net/http"
)

// maxResumed is how often a download goes on after its connection broke.
const maxResumed = 5

// download reads a blob and goes on where a broken connection left off. What comes
// out is held against the digest like everything else.
type download struct {
	registry *registry
	ctx      context.Context
	what     string
	body     io.ReadCloser // nil if it has to be asked for
	n        int64         // bytes that came
	left     int
}

func (d *download) Read(p []byte) (int, error) {
	for {
		if d.body == nil {
			if err := d.get(); err != nil {
				return 0, err
			}
		}
		n, err := d.body.Read(p)
		d.n += int64(n)
		if err == nil || err == io.EOF || d.ctx.Err() != nil || d.left == 0 {
			return n, err
		}
		d.left--
		d.Close()
		if n > 0 {
			return n, nil
		}
	}
}

func (d *download) get() error {
	resp, err := d.registry.ask(d.ctx, d.what, d.n)
	if err != nil {
		return err
	}
	if resp.StatusCode == http.StatusOK && d.n > 0 { // from the start: what came is passed over
		if _, err := io.CopyN(io.Discard, resp.Body, d.n); err != nil {
			resp.Body.Close()
			return err
		}
	}
	d.body = resp.Body
	return nil
}

func (d *download) Close() error {
	if d.body == nil {
		return nil
	}
	body := d.body
	d.body = nil
	return body.Close()
}
