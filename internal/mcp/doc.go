// Package mcp is the Model Context Protocol surface (§11): it hands units that an
// agent asks for to the supervisor, and hands back what a run was with the proof
// of it. A tool's arguments are the grants: what isn't set isn't granted, and what
// the operator's policy doesn't hold can't be. It never sees a key.
package mcp
