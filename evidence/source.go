package evidence

// Source is a piece of collateral that a vendor's service gives out. Vendors'
// packages say what a report needs; whoever fetches it does so apart from
// verifying, and nothing is trusted for where it came from.
type Source struct {
	File string // in a folder of collateral
	URL  string
	// Header, if there is one, is a header of the answer that holds certificates
	// as URL-escaped PEM, which go to HeaderFile.
	Header, HeaderFile string
}
