//go:build amd64 || arm64

package cell

import (
	"fmt"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// hostSettings are what programs need of the host's /etc, and hostFolders where
// they lie. None of it is secret or names the machine or its users.
var (
	hostFolders  = []string{"/etc", "/etc/ssl", "/etc/pki", "/etc/pki/tls"}
	hostSettings = []string{
		"etc/alternatives", "etc/ld.so.cache", "etc/ssl/certs", "etc/ssl/openssl.cnf", "etc/pki/tls/certs", "etc/pki/tls/cert.pem",
		"etc/pki/ca-trust", "etc/crypto-policies", "etc/mime.types", "etc/protocols", "etc/services", "etc/os-release",
		"etc/debian_version", "etc/fonts", "etc/python3", "etc/python3.11", "etc/perl", "etc/nodejs", "etc/postgresql-common",
	}
)

const aptSettings = "/etc/apt/apt.conf.d"

// files writes the cell's own files: users, hosts and what the spec has.
func (v *view) files() error {
	o := v.order
	list := []File{
		{"/etc/hostname", []byte(o.Hostname + "\n")},
		{"/etc/hosts", []byte("127.0.0.1\tlocalhost " + o.Hostname + "\n::1\tlocalhost ip6-localhost\n")},
	}
	if v.base.Host {
		list = append(list,
			File{"/etc/passwd", []byte(passwd(o.UID, o.GID))},
			File{"/etc/group", []byte(group(o.GID))},
			File{"/etc/nsswitch.conf", []byte("passwd: files\ngroup: files\nhosts: files dns\nnetworks: files\nprotocols: files\nservices: files\n")},
		)
	}
	if _, err := os.Stat(aptSettings); err == nil && o.UID == 0 {
		// It would become another user to fetch, and no one in a cell becomes another.
		list = append(list, File{aptSettings + "/99-one-user", []byte("APT::Sandbox::User \"root\";\n")})
	}
	for _, f := range append(list, o.Files...) {
		if err := v.lay(f); err != nil {
			return err
		}
	}
	return nil
}

// lay writes a file in place of what is there.
func (v *view) lay(f File) error {
	if err := canonical("file", f.Path); err != nil {
		return err
	}
	if err := unix.Unlink(f.Path); err != nil {
		if err := v.place(path.Dir(f.Path), true); err != nil {
			return err
		}
	}
	v.rule(f.Path, rightsRead, false)
	return makeFile(f.Path, f.Data, 0o644)
}

// User is the name of the unit's user where there is none by that number.
const user = "unit"

func passwd(uid, gid uint32) string {
	s := "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
	if uid != 0 && uid != 65534 {
		s += fmt.Sprintf("%s:x:%d:%d:%s:%s:/bin/sh\n", user, uid, gid, user, home(uid))
	}
	return s
}

func group(gid uint32) string {
	s := "root:x:0:\ntty:x:5:\nnogroup:x:65534:\n"
	if gid != 0 && gid != 5 && gid != 65534 {
		s += fmt.Sprintf("%s:x:%d:\n", user, gid)
	}
	return s
}

func home(uid uint32) string {
	if uid == 0 {
		return "/root"
	}
	return "/home/" + user
}

// private makes the folders that are the unit's alone. With a writable root they
// are the root's, but for shared memory.
func (v *view) private() error {
	type folder struct {
		at   string
		mode uint32
	}
	list := []folder{{"/dev/shm", 0o1777}}
	if !v.order.Writable {
		list = append(list, folder{"/tmp", 0o1777}, folder{"/var/tmp", 0o1777}, folder{"/run", 0o755})
	}
	if v.base.Host {
		list = append(list, folder{home(v.order.UID), 0o700})
	}
	for _, f := range list {
		if v.beneath(f.at) {
			continue // the folder that is granted takes its place
		}
		if err := v.own(f.at, f.mode); err != nil {
			return err
		}
		// A rule reaches into what is mounted beneath.
		if !v.above(f.at) {
			v.rule(f.at, rightsOwn, true)
		}
	}
	return nil
}

// beneath reports whether a folder lies within a mount, which would cover it.
func (v *view) beneath(at string) bool {
	for _, m := range v.order.Mounts {
		if strings.HasPrefix(at, m.Target+"/") {
			return true
		}
	}
	return false
}

// overlay makes the root of a folder: what is written lies over it, in memory.
func (v *view) overlay() error {
	for _, name := range []string{"upper", "work", "layers"} {
		if err := unix.Mkdir(name, 0o755); err != nil {
			return os.NewSyscallError("mkdir", err)
		}
	}
	options := fmt.Sprintf("lowerdir=/proc/self/fd/%d,upperdir=upper,workdir=work,userxattr", v.rootFD)
	if err := unix.Mount("overlay", "layers", "overlay", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return fmt.Errorf("root: a private layer over it: %w", os.NewSyscallError("mount overlay", err))
	}
	unix.Close(v.rootFD)
	return os.NewSyscallError("chdir", unix.Chdir("layers"))
}
