package cli

const exitHelp = `joulebox run exits with the unit's own code, its low eight bits, when the unit
ended by itself. Otherwise:

  124      the time or the energy budget was breached
  125      joulebox could not start the unit, which is no valid module, say, or
           declined to
  126      denied: the program can't be read, or can't begin without what isn't granted
  127      the program, or the export to call, was not found
  128+N    the unit was ended by signal N: 130 after Ctrl-C, 143 after SIGTERM
  134      the unit trapped (128 + SIGABRT)
  137      the memory budget was breached (128 + SIGKILL)

A unit can exit with these codes too. The JSON record (--json) keeps them apart:
exit_code is the unit's alone, and a breach is named in outcome.

joulebox verify exits with 0 when every bundle is genuine under a trusted key, 1
when a check failed, 2 on a usage error, and 3 when a bundle is genuine but
something that trust needs is missing, such as a trusted key. Every other command
exits with 0, with 1 when it failed, or with 2 on a usage error.`

const filesHelp = `$JOULEBOX_STATE, else $XDG_STATE_HOME/joulebox, else ~/.local/state/joulebox, holds
the signing key with its sequence numbers, the trusted keys and the records of all
runs. $XDG_CACHE_HOME/joulebox, else ~/.cache/joulebox, holds compiled modules and
may be removed at any time.`
