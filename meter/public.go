package meter

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// PublicReference is where the figures of publicCPUs are from.
const PublicReference = "Boavizta BoaviztAPI, cpu_specs.csv at 005e975b, thermal design power and cores"

// publicCPUs are processors with their thermal design power in watts and their
// cores, as published in PublicReference.
const publicCPUs = `
AMD EPYC 7232P 120 8, 7252 120 8, 7262 155 8, 7272 120 12, 7282 120 16, 7302 155 16, 7302P 155 16, 7352 155 24, 7402 180 24, 7402P 180 24
AMD EPYC 7452 155 32, 7502 180 32, 7502P 180 32, 7542 225 32, 7552 200 48, 7642 225 48, 7702 200 64, 7702P 200 64, 7742 225 64
AMD EPYC 7F32 180 8, 7F72 240 24, 7H12 280 64
AMD EPYC 72F3 180 8, 7313 155 16, 7313P 155 16, 7343 190 16, 7373X 240 16, 73F3 240 16, 7413 180 24, 7443 200 24, 7443P 200 24, 7453 225 28
AMD EPYC 7473X 240 24, 74F3 240 24, 7513 200 32, 7543 225 32, 7543P 225 32, 7573X 280 32, 75F3 280 32, 7643 225 48, 7663 240 56
AMD EPYC 7713 225 64, 7713P 225 64, 7763 280 64, 7773X 280 64
AMD EPYC 9124 200 16, 9174F 320 16, 9224 200 24, 9254 200 24, 9274F 320 24, 9334 210 32, 9354 280 32, 9354P 280 32, 9374F 320 32
AMD EPYC 9454 290 48, 9454P 290 48, 9474F 360 48, 9534 280 64, 9554 360 64, 9554P 360 64, 9634 290 84, 9654 360 96, 9654P 360 96
Intel Xeon Gold 6354 205 18, 6414U 250 32, 6416H 165 18, 6418H 185 24, 6421N 185 32, 6426Y 185 16, 6428N 185 32, 6430 270 32, 6434 195 8
Intel Xeon Gold 6438M 205 32, 6438N 205 32, 6438Y+ 205 32, 6442Y 225 24, 6444Y 270 16, 6448H 250 32, 6448Y 225 32, 6454S 270 32, 6458Q 350 32
Intel Xeon Max 9460 350 40, 9462 350 32, 9468 350 48, 9470 350 52, 9480 350 56
Intel Xeon Platinum 8180 205 28, 8180M 205 28, 8253 125 16, 8256 105 4, 8260 165 24, 8260M 165 24, 8268 205 24, 8270 205 26, 8276 165 28
Intel Xeon Platinum 8280 205 28, 8280M 205 28, 8351N 225 36, 8352M 185 32, 8352S 205 32, 8352V 195 36, 8358 250 32, 8358P 240 32
`

// PublicCPU is what is published of a processor.
type PublicCPU struct {
	Name         string
	Watts, Cores uint64
}

var publicByName = sync.OnceValue(func() map[string]PublicCPU {
	all := map[string]PublicCPU{}
	for _, line := range strings.Split(strings.TrimSpace(publicCPUs), "\n") {
		var family string
		for _, entry := range strings.Split(line, ", ") {
			f := strings.Fields(entry)
			n := len(f)
			if family == "" {
				family = strings.Join(f[:n-3], " ")
			}
			watts, err1 := strconv.ParseUint(f[n-2], 10, 64)
			cores, err2 := strconv.ParseUint(f[n-1], 10, 64)
			if err1 != nil || err2 != nil || cores == 0 {
				panic(fmt.Sprintf("BUG(joulebox): public figures: %q", entry))
			}
			name := family + " " + f[n-3]
			all[name] = PublicCPU{name, watts, cores}
		}
	}
	return all
})

var decoration = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\((R|TM|r|tm)\)|\bCPU\b|@.*$|\b[0-9]+-Core\b|\bProcessor\b`)
})

// FindPublicCPU finds a processor by the name that its host gives, such as "AMD EPYC
// 7763 64-Core Processor" or "Intel(R) Xeon(R) Platinum 8358 CPU @ 2.60GHz".
func FindPublicCPU(name string) (PublicCPU, bool) {
	p, ok := publicByName()[strings.Join(strings.Fields(decoration().ReplaceAllString(name, " ")), " ")]
	return p, ok
}

// Table prices work by the power of one of the processor's cores, and by how long
// that work took in the samples. It measures nothing.
func (p PublicCPU) Table(samples []Sample, base Table) (Table, error) {
	timed := make([]Sample, len(samples))
	for i, s := range samples {
		// A core at its share of the thermal design power.
		uj, err := scale(uint64(max(0, s.CPUTime)), p.Watts*1_000_000, p.Cores*1_000_000_000)
		if err != nil {
			return base, err
		}
		timed[i] = s
		timed[i].Energy = uj // a counter's, if there is one, is no part of this
	}
	t, err := Fit(timed, base)
	t.MicrojoulesPerCPUSecond = uint64(math.Ceil(float64(p.Watts*1_000_000) / float64(p.Cores)))
	return t, err
}
