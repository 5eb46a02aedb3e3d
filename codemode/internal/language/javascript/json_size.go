package javascript

import "github.com/dop251/goja"

// jsonSize is a lower bound, in bytes, of the JSON text of the values that a replacer has seen.
// JSON.stringify builds the whole text before its length can be compared with a limit, which takes
// several times as much memory; a replacer that counts stops it before.
type jsonSize int

// maxIndex is the longest key of an array's element. Those are not written.
const maxIndex = len("4294967294")

// add counts a value and its key.
func (n *jsonSize) add(key, v goja.Value) {
	switch x := v.(type) {
	case goja.String:
		*n += jsonSize(x.Length() + len(`""`))
	case *goja.Object:
		if _, function := goja.AssertFunction(x); function {
			return
		}
		*n += jsonSize(len(`{}`))
	case *goja.Symbol:
		return
	default:
		if goja.IsUndefined(v) {
			return
		}
		*n++
	}
	if k, ok := key.(goja.String); ok && k.Length() > maxIndex {
		*n += jsonSize(k.Length() + len(`"":`))
	}
}

// shorten counts a value and its key, and returns what a text of at most so many bytes shows of the
// value: a string's beginning, and nothing of what comes after the text's end.
func (n *jsonSize) shorten(key, v goja.Value, most int) goja.Value {
	if int(*n) > most {
		return goja.Undefined()
	}
	n.add(key, v)
	if str, ok := v.(goja.String); ok && str.Length() > most {
		return str.Substring(0, most)
	}
	return v
}
