package meter_test

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/joulebox/joulebox/meter"
)

func TestBatteryPower(t *testing.T) {
	ac := map[string]string{"type": "Mains", "online": "0"}
	mouse := map[string]string{"type": "Battery", "scope": "Device", "status": "Discharging", "power_now": "99"}
	battery := map[string]string{"type": "Battery", "status": "Discharging", "power_now": "12400000"}
	with := func(base map[string]string, change map[string]string) map[string]string {
		m := maps.Clone(base)
		maps.Copy(m, change)
		return m
	}
	current := with(battery, map[string]string{"current_now": "1000000", "voltage_now": "11400000"})
	delete(current, "power_now")
	nothing := maps.Clone(battery)
	delete(nothing, "power_now")
	for _, c := range []struct {
		name  string
		files map[string]map[string]string
		want  uint64
		err   string
	}{
		{"one", map[string]map[string]string{"AC": ac, "BAT0": battery, "mouse": mouse}, 12_400_000, ""},
		{"two, one by current", map[string]map[string]string{"BAT0": battery, "BAT1": current}, 23_800_000, ""},
		{"charging", map[string]map[string]string{"BAT0": with(battery, map[string]string{"status": "Charging"})}, 0, "on the mains"},
		{"a mouse's", map[string]map[string]string{"mouse": mouse}, 0, "no battery"},
		{"garbage", map[string]map[string]string{"BAT0": with(battery, map[string]string{"power_now": "-1"})}, 0, "invalid syntax"},
		{"nothing to read", map[string]map[string]string{"BAT0": nothing}, 0, "no such file"},
		{"none", nil, 0, "no battery"},
	} {
		got, err := meter.BatteryPower(monitors(t, c.files))
		if got != c.want || (err == nil) != (c.err == "") || err != nil && (!errors.Is(err, meter.ErrNotMeasured) || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: got %d, %v, want %d, %q", c.name, got, err, c.want, c.err)
		}
	}
}
