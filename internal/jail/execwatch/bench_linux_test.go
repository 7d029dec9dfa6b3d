package execwatch

import (
	"fmt"
	"testing"
)

// BenchmarkExec is a shell's loop of a small dynamic program: fork, execve, wait.
func BenchmarkExec(b *testing.B) {
	for _, u := range users() {
		for _, way := range append([]string{"reap"}, ways(u)...) {
			for _, forget := range []bool{false, true} {
				if way == "traceme" || way == "reap" && forget {
					continue
				}
				name := u.name + "/" + way
				if forget {
					name += "/uncached"
				}
				b.Run(name, func(b *testing.B) {
					script := fmt.Sprintf("i=0; while [ $i -lt %d ]; do /bin/true; i=$((i+1)); done", b.N)
					answer, _ := order{Way: way, Forget: forget, Args: []string{"/bin/sh", "-c", script}}.run(b, u)
					if !answer.Status.Exited() {
						b.Fatalf("status %#x", uint32(answer.Status))
					}
				})
			}
		}
	}
}
