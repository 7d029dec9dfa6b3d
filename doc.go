// Package joulebox holds the words that every other package shares: the
// isolation ladder, the device classes, content addresses, microjoules and
// outcomes of the open standard "Sandbox v0.1". It does nothing; it names.
//
// A unit is run by a host at exactly one Tier (§2.2), touches only the
// DeviceClass values its grant names (§2.3), is identified by an ID (§3), costs
// Microjoules (§6) and ends in an Outcome (§7.1).
package joulebox
