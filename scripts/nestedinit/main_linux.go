// Nestedinit is the first process of the machine in which scripts/nested-kvm runs
// a package's tests. With -archive it writes that machine's root instead.
package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == "-archive" {
		if err := archive(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	prepare()
	test := exec.Command("/test", os.Args[1:]...)
	test.Stdout, test.Stderr = os.Stdout, os.Stderr
	test.Env = []string{"HOME=/tmp", "PATH=/", "TMPDIR=/tmp", "GOTRACEBACK=all"}
	verdict := "passed"
	if err := test.Run(); err != nil {
		verdict = err.Error()
	}
	fmt.Println("nested tests:", verdict)
	_ = syscall.Reboot(syscall.LINUX_REBOOT_CMD_POWER_OFF)
}

// prepare mounts what a test needs and loads the modules.
func prepare() {
	for dir, kind := range map[string]string{"/proc": "proc", "/dev": "devtmpfs", "/sys": "sysfs", "/tmp": "tmpfs"} {
		_ = os.Mkdir(dir, 0o755)
		if err := syscall.Mount(kind, dir, kind, 0, ""); err != nil {
			fmt.Println(dir, err)
		}
	}
	for _, name := range []string{"irqbypass", "kvm", "kvm-amd"} {
		f, err := os.Open("/" + name + ".ko")
		if err == nil {
			err = unix.FinitModule(int(f.Fd()), "", 0)
		}
		if err != nil {
			fmt.Println(name, err)
		}
	}
}

// archive writes the files of a folder as an initial root in the form that kernels
// read (cpio, newc).
func archive(dir string) error {
	number := 0
	entry := func(name string, mode fs.FileMode, data []byte) {
		number++
		kind := 0o100000
		if mode.IsDir() {
			kind = 0o40000
		}
		head := fmt.Sprintf("070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00",
			number, kind|int(mode.Perm()), 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name)+1, 0, name)
		fmt.Print(head, strings.Repeat("\x00", -len(head)&3))
		os.Stdout.Write(data)
		fmt.Print(strings.Repeat("\x00", -len(data)&3))
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range list {
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return err
		}
		entry(f.Name(), 0o755, data)
	}
	entry("dev", fs.ModeDir|0o755, nil)
	entry("TRAILER!!!", 0, nil)
	return nil
}
