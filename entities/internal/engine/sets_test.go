package engine_test

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
	v2 "github.com/koan-go/koan/tests/growth/v2/ent"
	"github.com/koan-go/koan/tests/race"
	"github.com/koan-go/koan/tests/soak"
)

// descriptors counts the process's open files; -1 where the system does not say.
func descriptors() int {
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return -1
	}
	return len(files)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

// Many times as many sets as stay open. The thousand are in make soak.
func TestManySets(t *testing.T) {
	race.Detect(t)
	if forEach(t, TestManySets) {
		return
	}
	const callers = 4
	sets := soak.Rounds(150, 250)
	a := start(t, v2.Entities())
	each := func(from int, do func(set string, n int)) {
		var group sync.WaitGroup
		for c := range callers {
			group.Go(func() {
				for n := from + c; n < sets; n += callers {
					do(fmt.Sprintf("tenant-%d", n), n)
				}
			})
		}
		group.Wait()
	}
	write := func(set string, n int) {
		a.call("Note.upsert", fmt.Sprintf(`{"model":{"id":"same","title":"of %d"},"set":%q}`, n, set))
	}
	for n := range 100 {
		write(fmt.Sprintf("tenant-%d", n), n)
		a.call("Note.count", fmt.Sprintf(`{"set":"tenant-%d"}`, n))
	}
	files, memory := descriptors(), heap()
	each(100, write)
	each(0, func(set string, n int) {
		note := a.call("Note.get-by-id", fmt.Sprintf(`{"id":"same","set":%q}`, set))
		require.Equal(t, fmt.Sprintf("of %d", n), note["title"])
	})
	t.Logf("descriptors %d, then %d; heap %d MB, then %d MB", files, descriptors(), memory>>20, heap()>>20)
	require.LessOrEqual(t, descriptors(), files+3*16, "open files stay bounded")
	require.Less(t, heap(), memory+64<<20, "memory stays bounded")
}

func TestNothingCrossesSets(t *testing.T) {
	t.Parallel()
	if forEach(t, TestNothingCrossesSets) {
		return
	}
	a := start(t, v2.Entities())
	a.call("Folder.upsert", `{"model":{"id":"f","name":"ones"},"set":"tenant-1"}`)
	a.call("Note.upsert", `{"model":{"id":"n","title":"ones","folder":"f"},"set":"tenant-1"}`)
	a.call("Note.upsert", `{"model":{"id":"n","title":"twos"},"set":"tenant-2"}`)

	_, _, err := a.try("Note.patch", `{"id":"n","changes":{"folder":"f"},"set":"tenant-2"}`)
	require.Error(t, err, "a row of another set cannot be linked")
	require.EqualValues(t, 0, a.call("Note.count", `{"filter":{"folder":{"name":"ones"}},"set":"tenant-2"}`)["count"], "an edge asks no other set")
	a.call("Folder.upsert", `{"model":{"id":"g","name":"ones"},"set":"tenant-2"}`) // unique in its set only
	require.EqualValues(t, 1, a.call("Note.delete-by-query", `{"filter":{},"set":"tenant-2","maxAffected":10}`)["deleted"])
	require.Equal(t, "ones", a.call("Note.get-by-id", `{"id":"n","set":"tenant-1"}`)["title"])
	require.EqualValues(t, 0, a.call("Note.count", `{}`)["count"])

	for _, set := range []string{"other", "Tenant-1", "../tenant-1", "tenant-1.db", "tenant-" + string(make([]byte, 50)), "koan", "tenant-\u00e9"} {
		_, _, err := a.try("Note.count", fmt.Sprintf(`{"set":%q}`, set))
		require.Contains(t, []fault.Code{fault.UnknownSet, fault.InvalidPayload}, fault.CodeOf(err), "%q", set)
	}
	a.as = auth.Principal{Subject: "one", Scopes: auth.Local().Scopes, Sets: []string{"tenant-1"}}
	a.fails(fault.UnknownSet, "Note.count", `{"set":"tenant-2"}`)
	require.EqualValues(t, 1, a.call("Note.count", `{"set":"tenant-1"}`)["count"])
}
