//go:build amd64 || arm64

package cell

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/joulebox/joulebox/internal/jail"
)

// surveyName is the argv[0] of a unit that does nothing: this program, in a cell
// that is made to see whether it can be.
const surveyName = "joulebox-cell-survey"

// Survey says what can be established here, by building a cell with everything on.
// What is missing says what to do about it. It takes as long as a few small runs.
func Survey() []jail.Mechanism {
	found := map[string]error{}
	limits := Limits{Memory: 64 << 20, Processes: 16, CPUs: 1000, CPUWeight: 100, ReadIOPS: 1 << 20, WriteIOPS: 1 << 20, ReadBPS: 1 << 40, WriteBPS: 1 << 40}
	for range surveyed {
		name, err := trial(limits)
		if err == nil {
			break
		}
		found[name] = err
		switch name {
		case nameMemory:
			limits.Memory = 0
		case nameProcesses:
			limits.Processes = 0
		case nameCPU:
			limits.CPUs, limits.CPUWeight = 0, 0
		case nameIO:
			limits.ReadIOPS, limits.WriteIOPS, limits.ReadBPS, limits.WriteBPS = 0, 0, 0, 0
		default:
			return mechanisms(found) // nothing more can be tried without it
		}
	}
	return mechanisms(found)
}

// trial builds a cell and names the mechanism that it fails for.
func trial(l Limits) (name string, err error) {
	self, err := os.Open(program)
	if err != nil {
		return nameNamespaces, err
	}
	defer self.Close()
	c, err := Start(context.Background(), Spec{Path: "/survey", Program: self, Argv: []string{surveyName}, Limits: l})
	var m *jail.MissingError
	switch {
	case errors.As(err, &m):
		return m.Mechanisms[0].Name, m.Mechanisms[0].Missing
	case err != nil:
		return nameNamespaces, err
	}
	end, err := c.Wait()
	if err == nil && (end.Code == nil || *end.Code != 0) {
		err = fmt.Errorf("a program that does nothing ended with %v and signal %v in it", end.Code, end.Signal)
	}
	return nameView, err
}

var surveyed = []string{nameNamespaces, nameView, nameLandlock, nameSeccomp, nameTime, nameMemory, nameProcesses, nameCPU, nameIO}

func mechanisms(found map[string]error) (list []jail.Mechanism) {
	for _, name := range surveyed {
		m := jail.Mechanism{Name: name, Missing: found[name], Needed: jail.EveryProcess, Detail: details[name]}
		switch name {
		case nameIO:
			m.Needed = jail.WithStorage
		case nameLandlock:
			if version, err := landlockVersion(); err == nil {
				m.Detail = fmt.Sprintf("version %d", version)
			}
		case nameTime:
			m.Detail = whereGroups()
		}
		list = append(list, m)
	}
	return list
}

var details = map[string]string{
	nameNamespaces: "user, mount, pid, net, ipc, uts, cgroup and time",
	nameView:       "a root of its own, made of what is granted",
	nameSeccomp:    "a list of calls; what only the privileged call is seen",
}

func whereGroups() string {
	list, err := hierarchies()
	if err != nil || len(list) == 0 {
		return "no control groups"
	}
	for _, h := range list {
		if !h.two {
			return "control groups, version 1"
		}
	}
	return "control groups, version 2"
}

// Unavailable says why there can be no cells here, as far as it can be told without
// building one. [Start] tells the rest.
func Unavailable() error {
	if !hooked {
		return errUnhooked
	}
	if _, err := landlockVersion(); err != nil {
		return missing(nameLandlock, err)
	}
	if list, err := hierarchies(); err != nil || len(list) == 0 {
		return missing(nameTime, errNoController)
	}
	return nil
}

var errUnhooked = errors.New("cells are re-executions of this program, which needs cell.RunInitIfAsked as the first call of main")
