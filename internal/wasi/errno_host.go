package wasi

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"syscall"
)

// hostErrnos maps what the host's own calls fail with. An error that isn't here
// becomes EIO: a guest learns nothing else of the host.
var hostErrnos = map[syscall.Errno]Errno{
	syscall.EACCES: EAcces, syscall.EAGAIN: EAgain, syscall.EBADF: EBadf, syscall.EBUSY: EBusy,
	syscall.EDQUOT: EDquot, syscall.EEXIST: EExist, syscall.EFAULT: EFault, syscall.EFBIG: EFbig,
	syscall.EILSEQ: EIlseq, syscall.EINTR: EIntr, syscall.EINVAL: EInval, syscall.EIO: EIO,
	syscall.EISDIR: EIsdir, syscall.ELOOP: ELoop, syscall.EMFILE: EMfile, syscall.EMLINK: EMlink,
	syscall.ENAMETOOLONG: ENametoolong, syscall.ENFILE: ENfile, syscall.ENODEV: ENodev, syscall.ENOENT: ENoent,
	syscall.ENOMEM: ENomem, syscall.ENOSPC: ENospc, syscall.ENOSYS: ENosys, syscall.ENOTDIR: ENotdir,
	syscall.ENOTEMPTY: ENotempty, syscall.ENOTSUP: ENotsup, syscall.ENOTTY: ENotty, syscall.ENXIO: ENxio,
	syscall.EOVERFLOW: EOverflow, syscall.EPERM: EPerm, syscall.EPIPE: EPipe, syscall.EROFS: ERofs,
	syscall.ESPIPE: ESpipe, syscall.ESTALE: EStale, syscall.ETIMEDOUT: ETimedout, syscall.ETXTBSY: ETxtbsy,
	syscall.EXDEV: EXdev,
}

// errnoOf is what a guest is told of an error.
func errnoOf(err error) Errno {
	if err == nil {
		return Success
	}
	if e, ok := err.(Errno); ok {
		return e
	}
	if e, ok := err.(syscall.Errno); ok {
		return fromHost(e)
	}
	return errnoOfWrapped(err)
}

func fromHost(e syscall.Errno) Errno {
	if w, ok := hostErrnos[e]; ok {
		return w
	}
	return EIO
}

func errnoOfWrapped(err error) Errno {
	var own Errno
	var sys syscall.Errno
	switch {
	case errors.As(err, &own):
		return own
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return ECanceled
	case errors.As(err, &sys):
		return fromHost(sys)
	case errors.Is(err, io.ErrClosedPipe):
		return EPipe
	case errors.Is(err, fs.ErrClosed):
		return EBadf
	}
	return EIO
}
