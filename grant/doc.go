// Package grant is the capability model of §5: the grant set, the pure
// Enforcer that answers every access query, and the tier a request needs (§2.2).
//
// Everything is denied unless a grant names it (§1.2). A Set is content
// addressed before the run: [Parse] reads the one canonical spelling, [ParseHuman]
// and [Builder] read what people write and give the same Set for the same wish.
//
// Where the standard leaves a choice open, this package takes the narrower one:
//
//   - Paths and globs are absolute and compared byte for byte: no case folding,
//     no Unicode folding, no percent decoding, no backslash as separator.
//   - "*" is within one segment. "**" as a whole segment covers zero or more
//     segments inside a glob and one or more at its end, so "/data/**" does not
//     cover /data itself. "/data/*" is one level. Within a segment ("a**b") two
//     stars are one star. A bare "**" is everything, the root included.
//   - A network query is lower-cased and loses one trailing dot before it is
//     compared; nothing else about it is repaired. Names are A-labels.
//   - A navigation is denied unless its text is already plain: no blanks, no
//     backward or missing slashes, no host that a browser would rewrite, no
//     relative form, no opaque or blob origin.
//   - There is one list of key prefixes for both directions (§5.4).
//
// The package has no ambient state: no clock, no disk, no network (C2).
package grant
