package meter

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// BusyCPU is the CPU time that the whole host spent on anything but idling,
// since boot. The kernel counts it in ticks of 10 ms.
func BusyCPU() (time.Duration, error) {
	const stat = "/proc/stat"
	if err := kernelsOwn(stat); err != nil {
		return 0, err
	}
	return busyCPU(stat)
}

// kernelsOwn refuses a file that something else than the kernel shows in procfs's
// place. Some containers are given one that counts their own work alone: the host's
// energy would be shared as if nobody else worked there.
func kernelsOwn(path string) error {
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil {
		return notMeasured("%s: %w", path, err)
	}
	if fs.Type != unix.PROC_SUPER_MAGIC {
		return notMeasured("%s is not the kernel's own (file system type %#x): it may count this container alone", path, fs.Type)
	}
	return nil
}

const tick = 10 * time.Millisecond // USER_HZ is 100 on every Linux that Go runs on

// Columns of the cpu line: idle and iowait are no work, steal is another
// machine's, and guest time, behind it, is in user and nice already.
const idleColumn, iowaitColumn, stealColumn = 4, 5, 8

func busyCPU(path string) (time.Duration, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Scan()
	fields := strings.Fields(s.Text())
	if len(fields) < 6 || fields[0] != "cpu" {
		return 0, fmt.Errorf("%s: got %q, want the cpu line", path, s.Text())
	}
	var ticks uint64
	for i, f := range fields[:min(len(fields), stealColumn)] {
		if i == 0 || i == idleColumn || i == iowaitColumn {
			continue
		}
		n, err := strconv.ParseUint(f, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
		ticks += n
	}
	return time.Duration(ticks) * tick, nil
}
