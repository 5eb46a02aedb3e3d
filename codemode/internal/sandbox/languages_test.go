package sandbox

import _ "github.com/koan-go/koan/codemode/languages" // the test's binary is a worker, too
