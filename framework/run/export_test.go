package run

// Weight is weight, for tests.
var Weight = weight
