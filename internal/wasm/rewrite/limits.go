package rewrite

// Limits bound what a module may ask of whoever compiles and instantiates it.
// They are part of what a host admits, never of what a run costs.
type Limits struct {
	ModuleBytes     int // whole module
	Types           int // function types
	Params, Results int // of one function type
	TypeValues      int // parameters and results over all types
	Imports         int
	Functions       int // imported ones not counted
	BodyBytes       int // code of one function
	Locals          int // of one function, parameters counted
	Nesting         int // blocks inside of blocks
	BrTable         int // labels of one br_table
	LabelValues     int // values carried by all labels and calls of one function
	AllLabelValues  int // the same, over all functions
	LocalJoins      int // locals times blocks of one function
	AllLocalJoins   int // the same, over all functions
	Tables          int
	TableEntries    int // over all tables at the start, and over all element segments
	Globals         int
	Exports         int
	ElementSegments int
	DataSegments    int
	ChainWords      int // stack of the deepest chain of calls without recursion
}

// DefaultLimits are wide enough for the largest programs seen, and narrow enough
// that a compiler's time and memory stay in proportion to the module: nothing is
// multiplied that a stranger chooses twice. A CPython of 26 MB has a function of
// 106 kB with 188 locals, and 103,000 locals times blocks in one function; what
// Go makes of esbuild, 14 MB, has one of 200 kB with 3,289 blocks inside of each
// other and 2.6 million locals times blocks in all. Each of those takes the
// engine a microsecond and 200 bytes.
func DefaultLimits() Limits {
	return Limits{
		ModuleBytes:     64 << 20,
		Types:           1 << 14,
		Params:          1000,
		Results:         1000,
		TypeValues:      1 << 17,
		Imports:         1 << 14,
		Functions:       1 << 17,
		BodyBytes:       1 << 20,
		Locals:          1 << 16,
		Nesting:         1 << 15,
		BrTable:         1 << 16,
		LabelValues:     1 << 18,
		AllLabelValues:  1 << 25,
		LocalJoins:      1 << 21,
		AllLocalJoins:   1 << 24,
		Tables:          64,
		TableEntries:    1 << 20,
		Globals:         1 << 14,
		Exports:         1 << 16,
		ElementSegments: 1 << 16,
		DataSegments:    1 << 18,
		ChainWords:      1 << 18,
	}
}
