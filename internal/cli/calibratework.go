package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/internal/wat"
	"github.com/joulebox/joulebox/meter"
	"github.com/joulebox/joulebox/supervisor"
)

// workload is a loop of one kind of work. The loop's body leaves nothing on the
// stack and counts nothing: the frame does.
type workload struct {
	name, body string
}

// The workloads that a model is made from: each class by itself, scalar work in
// more than one kind.
var fitted = []workload{
	{"arithmetic", `(local.set $a (i64.add (i64.mul (local.get $a) (i64.const 6364136223846793005)) (local.get $b)))
		(local.set $b (i64.xor (local.get $b) (i64.shr_u (local.get $a) (i64.const 33))))`},
	{"memory", `(local.set $p (i32.and (i32.add (local.get $p) (i32.const 4104)) (i32.const 0xffff8)))
		(i64.store (local.get $p) (i64.add (i64.load (local.get $p)) (local.get $b)))`},
	{"branches", `(local.set $a (i64.add (i64.mul (local.get $a) (i64.const 2862933555777941757)) (i64.const 3037000493)))
		(if (i64.lt_s (local.get $a) (i64.const 0)) (then (local.set $b (i64.add (local.get $b) (i64.const 1))))
			(else (local.set $b (i64.sub (local.get $b) (i64.const 3)))))`},
	{"vectors", `(local.set $v (i32x4.add (i32x4.mul (local.get $v) (local.get $w)) (v128.xor (local.get $v) (local.get $w))))
		(local.set $w (i32x4.sub (local.get $w) (i32x4.add (local.get $v) (local.get $v))))`},
	{"vectors and memory", `(local.set $p (i32.and (i32.add (local.get $p) (i32.const 16)) (i32.const 0xffff0)))
		(local.set $v (i32x4.add (local.get $v) (v128.load (local.get $p))))
		(v128.store (local.get $p) (local.get $v))`},
}

// The workloads that it is held against, which are none of those.
var held = []workload{
	{"hashing", `(local.set $a (i64.rotl (i64.xor (local.get $a) (i64.load (local.get $p))) (i64.const 27)))
		(local.set $a (i64.add (i64.mul (local.get $a) (i64.const -7046029288634856825)) (local.get $b)))
		(local.set $p (i32.and (i32.add (local.get $p) (i32.const 8)) (i32.const 0xffff8)))`},
	{"mixed", `(local.set $v (i32x4.add (local.get $v) (i32x4.splat (i32.wrap_i64 (local.get $a)))))
		(local.set $a (i64.add (i64.mul (local.get $a) (i64.const 6364136223846793005)) (i64.const 1442695040888963407)))
		(i64.store (local.get $p) (local.get $a))
		(local.set $p (i32.and (i32.add (local.get $p) (i32.const 520)) (i32.const 0xffff8)))`},
}

func (w workload) module(passes uint64) ([]byte, error) {
	text := fmt.Sprintf(`(module (memory 17)
	(func (export "run") (result i32)
		(local $n i64) (local $a i64) (local $b i64) (local $p i32) (local $v v128) (local $w v128)
		(local.set $n (i64.const %d)) (local.set $a (i64.const 88172645463325252)) (local.set $b (i64.const 1))
		(local.set $w (v128.const i32x4 1664525 22695477 1103515245 134775813))
		(loop $again
			%s
			(br_if $again (i64.ne (local.tee $n (i64.sub (local.get $n) (i64.const 1))) (i64.const 0))))
		(v128.store (i32.const 0) (i32x4.add (local.get $v) (local.get $w)))
		(i64.store (i32.const 16) (i64.add (local.get $a) (local.get $b)))
		(i32.const 0)))`, passes, w.body)
	module, err := wat.Assemble([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("BUG(joulebox): workload %s: %w", w.name, err)
	}
	return module, nil
}

// calibrator runs workloads.
type calibrator struct {
	run func(ctx context.Context, module []byte) (meter.Sample, error)
}

// probePasses is a first run's length, from which the length of others is made.
const probePasses = 5_000_000

// sample runs a workload for about the wanted CPU time.
func (k calibrator) sample(ctx context.Context, w workload, want time.Duration) (s meter.Sample, err error) {
	probe, err := k.once(ctx, w, probePasses)
	if err != nil {
		return s, err
	}
	perPass := max(1, probe.CPUTime*1000/probePasses) // in thousandths of a nanosecond
	return k.once(ctx, w, max(probePasses, uint64(want*1000/perPass)))
}

func (k calibrator) once(ctx context.Context, w workload, passes uint64) (s meter.Sample, err error) {
	module, err := w.module(passes)
	if err != nil {
		return s, err
	}
	if s, err = k.run(ctx, module); err != nil {
		return s, fmt.Errorf("workload %s: %w", w.name, err)
	}
	s.Work = w.name
	return s, nil
}

// calibrationGrants are of units that are sure to end by themselves.
func calibrationGrants() grant.Set {
	set := grant.Empty(grant.Compute{EnergyBudgetUJ: 100_000_000_000, CPUTimeMS: 60 * 60 * 1000, MemoryBytes: 64 << 20})
	set.Compute.Devices = []joulebox.DeviceClass{joulebox.CPU, joulebox.SIMD}
	return set
}

// runWith runs modules under a supervisor, whose records say what they cost.
func runWith(s *supervisor.Supervisor) func(context.Context, []byte) (meter.Sample, error) {
	return func(ctx context.Context, module []byte) (out meter.Sample, err error) {
		plan, err := s.Plan(supervisor.Request{Image: module, Entrypoint: []string{"run"}, Grants: calibrationGrants()})
		if err != nil {
			return out, err
		}
		record, err := s.Run(ctx, plan, host.BrokerConfig{})
		if err != nil {
			return out, err
		}
		if record.Exit.Outcome != joulebox.Completed {
			return out, fmt.Errorf("it ended as %s: %s", record.Exit.Outcome, record.Exit.Detail)
		}
		c := record.Exit.Counts
		out = meter.Sample{Units: c.Units, Vectors: c.Vectors, CPUTime: c.CPUTime}
		for _, e := range record.Receipt().Devices() {
			if uj, ok := e.Measured(); ok {
				out.Energy += uj
			}
		}
		return out, nil
	}
}
