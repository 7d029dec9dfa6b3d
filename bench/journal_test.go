package main

import "testing"

// BenchmarkJournal is for profiles; the comparison is in journal.
func BenchmarkJournal(b *testing.B) {
	j, err := newJournalBench(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer j.close()
	for _, u := range journalUnits()[:2] {
		for name, recorded := range map[string]bool{"recorded": true, "bare": false} {
			b.Run(name+" "+u.name, func(b *testing.B) {
				for b.Loop() {
					if _, err := j.run(u, recorded); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
