package read

// LookUpLate has pages looked up late that come behind so many rows.
func (e *Engine) LookUpLate(behind int64) { e.late = behind }
