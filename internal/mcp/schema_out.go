package mcp

import (
	"encoding/json/jsontext"
	"slices"
)

// refusedProperties are there when nothing ran: status is "refused".
var refusedProperties = object{
	{"error", textOf("what is wrong")},
	{"hint", textOf("how to mend it")},
	{"reasons", object{{"type", "array"}, {"items", tierRow}, {"description", "what raised the tier, highest first"}}},
}

var tierRow = object{{"type", "object"}, {"properties", object{{"tier", object{{"type", "string"}}}, {"text", object{{"type", "string"}}}}}}

func statusOf(done string) object {
	return object{{"type", "string"}, {"enum", []string{done, "refused"}}}
}

var plainText = object{{"type", "string"}}
var plainNumber = object{{"type", "integer"}, {"minimum", 0}}

func streamOf(about string) object {
	return object{{"type", "object"}, {"description", about}, {"properties", object{
		{"encoding", object{{"type", "string"}, {"enum", []string{encodingText, encodingBase64}}}},
		{"data", plainText},
		{"tail", textOf("the end, when dropped_bytes lie between data and it")},
		{"bytes", numberOf("all that was written", 0, 0)},
		{"dropped_bytes", plainNumber},
	}}, {"required", []string{"encoding", "data", "bytes", "dropped_bytes"}}}
}

var energyProperties = object{
	{"measured_uj", numberOf("read from a hardware interface; absent when there is none", 0, 0)},
	{"estimated_uj", plainNumber},
}

var energySchema = object{{"type", "object"}, {"properties", append(slices.Clone(energyProperties), pair{"devices", object{
	{"type", "array"}, {"items", object{{"type", "object"}, {"properties", append(object{
		{"class", plainText}, {"provenance", object{{"type", "string"}, {"enum", []string{"HwShunt", "ModelBased", "Estimator"}}}},
	}, energyProperties...)}}},
}})}, {"description", "microjoules, in all and for each device class"}}

var keySchema = object{{"type", "object"}, {"properties", object{{"algorithm", plainText}, {"public_key", plainText}, {"host_id", plainText}}}}

// recordProperties are what a record says of a run; every tool that shows one has
// them.
var recordProperties = object{
	{"tier", textOf("the isolation tier that it ran at, S0 to S7")},
	{"outcome", object{{"type", "string"}, {"enum", []string{"Completed", "Failed", "Terminated"}}}},
	{"breach", textOf("the budget that ended it, when Terminated")},
	{"exit_code", plainNumber},
	{"signal", plainNumber},
	{"cause", textOf("trap or cancelled, where no exit code says it")},
	{"energy", energySchema},
	{"storage", object{{"type", "object"}, {"description", "metered storage: operations, bytes, and what was denied"}, {"properties", object{
		{"reads", plainNumber}, {"read_bytes", plainNumber}, {"writes", plainNumber}, {"written_bytes", plainNumber}, {"denied", plainNumber},
	}}}},
	{"instructions", plainNumber}, {"cpu_us", plainNumber}, {"wall_us", plainNumber}, {"peak_memory_bytes", plainNumber},
	{"connections", plainNumber}, {"connections_denied", plainNumber}, {"execs", plainNumber}, {"execs_denied", plainNumber}, {"idle_uj", plainNumber},
	{"unit_id", plainText}, {"image_id", plainText}, {"grants_id", plainText}, {"receipt_id", plainText}, {"attestation_id", plainText},
	{"sequence", plainNumber}, {"started_at", plainText}, {"finished_at", plainText},
	{"eat", object{{"type", "object"}, {"description", "the attestation as an entity attestation token"}, {"properties", object{
		{"hex", plainText}, {"profile", plainText}, {"tier", plainText},
	}}}},
	{"verifying_keys", object{{"type", "array"}, {"items", keySchema}, {"description", "the host's; trust them because you know them, not because they stand here"}}},
	{"verification", object{{"type", "object"}, {"description", "made by this server before it returned anything"}, {"properties", object{{"verdict", plainText}, {"checks_passed", plainNumber}}}}},
	{"bundle", textOf("the whole record, as a resource; anyone can verify it offline")},
}

var deniedSchema = object{{"type", "array"}, {"items", object{{"type", "object"}, {"properties", object{
	{"reason", plainText}, {"grant", textOf("the argument that would allow it")},
}}}}, {"description", "the first few accesses that were denied"}}

func (s *Server) runOutput() jsontext.Value {
	return schema(slices.Concat(object{
		{"status", statusOf("ran")},
		{"stdout", streamOf("what it wrote")},
		{"stderr", streamOf("what it wrote there, if anything")},
		{"log", streamOf("its log lines, if any")},
		{"detail", textOf("which trap")},
		{"denials", deniedSchema},
	}, recordProperties, refusedProperties, s.sessionProperty()), "status")
}
