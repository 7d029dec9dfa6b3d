package cli

import (
	"fmt"
	"testing"
)

func TestParseInbound(t *testing.T) {
	for text, want := range map[string]string{
		"8080": "127.0.0.1:8080 8080", "8080:80": "127.0.0.1:8080 80", "0:80": "127.0.0.1:0 80", "0.0.0.0:8080:80": "0.0.0.0:8080 80",
		"192.0.2.1:80": "192.0.2.1:80 80", "[::1]:8080:80": "[::1]:8080 80", "[::]:80": "[::]:80 80",
	} {
		in, err := parseInbound(text)
		if got := fmt.Sprint(in.at, " ", in.port); err != nil || got != want {
			t.Errorf("%q: got %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", ":", "80:", ":80", "0", "80:0", "65536", "080", "+80", "80:80:80", "::1:80", "[::1]", "[::1]80", "[127.0.0.1]:80", "localhost:80", "1.2.3:80", "-1", "80/tcp"} {
		if in, err := parseInbound(text); err == nil {
			t.Errorf("%q: got %v", text, in)
		}
	}
}

// FuzzParseInbound: what is read says the same when it is written out.
func FuzzParseInbound(f *testing.F) {
	f.Add("8080:80")
	f.Add("[::1]:8080:80")
	f.Fuzz(func(t *testing.T, text string) {
		in, err := parseInbound(text)
		if err != nil {
			return
		}
		again, err := parseInbound(fmt.Sprintf("%v:%d", in.at, in.port))
		if err != nil || again != in {
			t.Errorf("%q: got %v, then %v, %v", text, in, again, err)
		}
	})
}
