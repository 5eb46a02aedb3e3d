package codemode_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/koan-go/koan/tests/pytypes"
)

// Scripts that are right and wrong, of which type checkers say the same.
var (
	rightTypes = []string{
		"page = SDK.Entities.Note.collection(filter={'text': 'a'}, sort='-text', page_size=10)\nreveal: int = page.totalCount",
		"for n in SDK.Entities.Note.each(filter={'text': 'a'}):\n    text: str = n.text",
		"row = SDK.Entities.Note.upsert(model={'text': 'x'})\nprint(row['text'], row.id)",
		"SDK.Entities.Note.upsert({'id': '1', 'text': 'x'}, set='default')",
		"row = SDK.Entities.Note.find_by_id('1')\nif row is not None:\n    SDK.Entities.Note.upsert(row)",
		"n: int = len(SDK.Entities.Note.all('default'))",
		"SDK.Mail.send(to='x')",
		"SDK.Mail.send({'to': 'x'})",
		"SDK.Out.answer({'set': SDK.run.set, 'dry': SDK.run.dry_run})",
		"try:\n    SDK.Entities.Note.get_by_id('1')\nexcept KoanError as e:\n    code: str = e.code",
	}
	wrongTypes = []string{
		"SDK.Entities.Nota.all()",
		"SDK.Entities.Note.colection()",
		"SDK.Entities.Note.collection(pagesize=10)",
		"SDK.Entities.Note.collection(page_size='10')",
		"SDK.Entities.Note.upsert({'txt': 'x'})",
		"n: str = SDK.Entities.Note.get_by_id('1')",
		"SDK.Entities.Note.getById('1').txt",
		"SDK.Mail.send(towards='x')",
		"SDK.Mail.sent(to='x')",
		"SDK.Out.answr(1)",
	}
)

func TestStubHoldsUnderTypeCheckersOfPython(t *testing.T) {
	t.Parallel()
	h := newPythonHouse(t, nil)
	files := map[string]string{}
	for i, code := range rightTypes {
		files[fmt.Sprintf("right%d.py", i)] = "from koan import SDK, KoanError\n" + code + "\n"
	}
	for i, code := range wrongTypes {
		files[fmt.Sprintf("wrong%d.py", i)] = "from koan import SDK, KoanError\n" + code + "\n"
	}
	mypy, pyright := pytypes.Check(t, pytypes.Stub(t, h.view), files)
	for name, found := range map[string]pytypes.Found{"mypy": mypy, "pyright": pyright} {
		assert.Empty(t, found["koan/__init__.pyi"], name)
		for i, code := range rightTypes {
			assert.Empty(t, found[fmt.Sprintf("right%d.py", i)], "%s: %s", name, code)
		}
		for i, code := range wrongTypes {
			assert.NotEmpty(t, found[fmt.Sprintf("wrong%d.py", i)], "%s accepts %s", name, code)
		}
	}
}
