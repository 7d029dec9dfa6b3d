package grant_test

import (
	"strings"
	"testing"

	"github.com/joulebox/joulebox/grant"
)

func TestViews(t *testing.T) {
	s := grant.Empty(grant.Compute{EnergyBudgetUJ: 1, CPUTimeMS: 1, MemoryBytes: 1})
	s.Storage = grant.Storage{
		Read:   []string{"/data", "/data/**", "/etc/hosts"},
		Write:  []string{"/data/out", "/data/out/**", "/data"},
		Delete: []string{"/data/out", "/data/out/**"},
	}
	views, err := s.Views()
	if err != nil {
		t.Fatal(err)
	}
	if len(views) != 3 || views[0].Path != "/data" || views[1].Path != "/data/out" || views[2].Path != "/etc/hosts" {
		t.Fatalf("got %+v", views)
	}
	if !views[0].Whole(grant.Read) || views[0].Whole(grant.Write) || !views[0].Exact[grant.Write] {
		t.Errorf("/data: %+v", views[0])
	}
	if views[1].Whole(grant.Read) || !views[1].Whole(grant.Write) || !views[1].Whole(grant.Delete) {
		t.Errorf("/data/out: %+v", views[1])
	}
	if views[2].Whole(grant.Read) || !views[2].Exact[grant.Read] {
		t.Errorf("/etc/hosts: %+v", views[2])
	}
}

func TestViewsRefuseWhatIsFiner(t *testing.T) {
	for _, glob := range []string{"/data/*", "/data/**", "/data/**/x", "/data/*.txt", "**", "/**/secret"} {
		s := grant.Empty(grant.Compute{EnergyBudgetUJ: 1, CPUTimeMS: 1, MemoryBytes: 1})
		s.Storage.Write = []string{glob}
		if views, err := s.Views(); err == nil {
			t.Errorf("%s: got %+v", glob, views)
		} else if !strings.Contains(err.Error(), "storage.write") || !strings.Contains(err.Error(), glob) {
			t.Errorf("%s: the error doesn't name it: %v", glob, err)
		}
	}
}
