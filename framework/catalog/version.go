package catalog

// SchemaVersion is the version of the contract that tools, results and faults
// follow (CONTRACT section 6). Removing or renaming moves the major part, adding
// the minor one; the snapshot of the tool list under test shows when.
const SchemaVersion = "2.3.0"
