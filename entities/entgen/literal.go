package entgen

import (
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"strconv"
	"strings"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/framework/catalog"
)

// literal writes a value as Go source, leaving out what is zero. It knows the
// kinds that descriptors are made of and panics on any other.
func literal(v any) string {
	var b strings.Builder
	write(&b, reflect.ValueOf(v), true)
	return b.String()
}

var (
	rawMessage = reflect.TypeFor[json.RawMessage]()
	entity     = reflect.TypeFor[descriptor.Entity]()
	resource   = reflect.TypeFor[catalog.Resource]()
)

// write appends a value; named says whether its type has to stand there.
func write(b *strings.Builder, v reflect.Value, named bool) {
	t := v.Type()
	switch {
	case t == rawMessage:
		fmt.Fprintf(b, "json.RawMessage(%s)", quote(string(v.Bytes())))
	case t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct:
		b.WriteString("&")
		write(b, v.Elem(), true)
	case t.Kind() == reflect.Pointer:
		fmt.Fprintf(b, "new(%s(%v))", t.Elem().Kind(), v.Elem().Interface())
	case t.Kind() == reflect.Struct:
		if named {
			b.WriteString(typeName(t))
		}
		b.WriteString("{")
		sep := ", "
		if t == entity || t == resource { // the large ones, a line for each field
			sep = ",\n"
			b.WriteString("\n")
		}
		for i := range t.NumField() {
			if t.Field(i).IsExported() && !v.Field(i).IsZero() {
				fmt.Fprintf(b, "%s: ", t.Field(i).Name)
				write(b, v.Field(i), true)
				b.WriteString(sep)
			}
		}
		b.WriteString("}")
	case t.Kind() == reflect.Slice:
		fmt.Fprintf(b, "[]%s{", typeName(t.Elem()))
		for i := range v.Len() {
			if t.Elem().Kind() == reflect.Struct {
				b.WriteString("\n")
			}
			write(b, v.Index(i), false)
			b.WriteString(",")
		}
		if v.Len() > 0 && t.Elem().Kind() == reflect.Struct {
			b.WriteString("\n")
		}
		b.WriteString("}")
	case t.Kind() == reflect.String:
		b.WriteString(quote(v.String()))
	case t.Kind() == reflect.Bool, t.Kind() == reflect.Int, t.Kind() == reflect.Int64:
		fmt.Fprint(b, v.Interface())
	default:
		panic("entgen: no literal for " + t.String())
	}
}

func typeName(t reflect.Type) string {
	if t.PkgPath() == "" {
		return t.String()
	}
	return path.Base(t.PkgPath()) + "." + t.Name()
}

func quote(s string) string {
	if strings.ContainsAny(s, `"\`) && strconv.CanBackquote(s) {
		return "`" + s + "`"
	}
	return strconv.Quote(s)
}
