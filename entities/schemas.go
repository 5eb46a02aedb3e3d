package entities

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/koan-go/koan/entities/internal/derive"
	"github.com/koan-go/koan/entities/internal/engine"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// settingSchema names a folder of ent schemas to serve.
const settingSchema = "schema"

// Schemas are the entities of a folder of ent schemas for which no code was generated. Package entschema
// makes them.
type Schemas struct {
	App   *shim.App
	Name  string // of the module that has the folder, its last part
	Place string // the folder
	// NotServed says of schemas, and of fields, why callers do not see them.
	NotServed []shim.Remark
	// NotRun says of schemas which of their code does not run.
	NotRun []shim.Remark
	// Close ends what runs for the schemas.
	Close func() error
}

// loadFirst has a command, and those below it, load the schemas before they do their work.
func (e *Existing) loadFirst(c *catalog.Command) {
	for _, below := range c.Sub {
		e.loadFirst(below)
	}
	if c.Run == nil {
		return
	}
	run := c.Run
	c.Run = func(ctx context.Context, host catalog.Host, in *catalog.Invocation) error {
		dir := host.Settings().String(settingSchema)
		if dir == "" {
			return fault.New(fault.CapabilityUnsupported, "Koan does not migrate or back up the tables of a database that exists; its own program does").
				WithHint("Name a folder of ent schemas with --schema, or use the tools of the database.")
		}
		if err := e.loadSchemas(ctx, host, dir); err != nil {
			return err
		}
		return errors.Join(run(ctx, host, in), e.schemas.Close())
	}
}

// startSchemas starts to serve a folder of schemas: their rows are kept where the setting `database` says, or in the
// app's data folder, as those of generated code are.
func (e *Existing) startSchemas(ctx context.Context, host catalog.Host, dir string) error {
	if err := e.loadSchemas(ctx, host, dir); err != nil {
		return err
	}
	e.engine = engine.New(e.app, nil)
	e.offer = e.engine.Offer()
	if err := e.Provider.Start(ctx, host); err != nil {
		return errors.Join(err, e.schemas.Close())
	}
	return nil
}

// loadSchemas loads the schemas of a folder, whose rows are the provider's then.
func (e *Existing) loadSchemas(ctx context.Context, host catalog.Host, dir string) error {
	if err := e.checkSchemaSettings(host); err != nil {
		return err
	}
	host.Log().Info("loading ent schemas", "dir", dir) // the go command may have to compile what they import
	schemas, err := e.open(ctx, dir)
	if err != nil {
		return err
	}
	e.schemas, e.below = schemas, schemas.folder()
	e.opts.Open = nil
	e.app = schemas.App
	return nil
}

// folder is where the rows of these schemas are, in the data folder of the program: those of other folders are
// another app's.
func (s *Schemas) folder() string {
	sum := sha256.Sum256([]byte(s.Place))
	return filepath.Join("schemas", s.Name+"-"+hex.EncodeToString(sum[:4]))
}

// checkSchemaSettings rejects settings that are for the tables of others.
func (e *Existing) checkSchemaSettings(host catalog.Host) error {
	v := host.Settings()
	if err := checkPlace(v.String(settingDatabase)); err != nil {
		return fault.New(fault.InvalidRequest, "with schema, database is where the rows of the schemas are kept, and it "+err.Error()).WithPath("/database").
			WithHint("Leave it out for a folder of your own, or serve the tables of that database without schema.")
	}
	if len(v.Under(derive.Section)) > 0 {
		return fault.New(fault.InvalidRequest, "entities of koan.yaml are those of a database that exists").WithPath("/" + derive.Section).
			WithHint("Say it in the schemas, with the annotations of the package expose.")
	}
	return nil
}

// checksOfSchemas lists what of the schemas is not served, and what does not run.
func (e *Existing) checksOfSchemas() (out []catalog.Check) {
	for _, r := range e.schemas.NotServed {
		out = append(out, catalog.Check{Name: "not served", OK: true, Detail: r.Name + ": " + r.Text})
	}
	for _, r := range e.schemas.NotRun {
		out = append(out, catalog.Check{Name: "not run", OK: true, Detail: r.Name + ": " + r.Text})
	}
	return out
}

// reportSchemas is the part of the boot report about the schemas.
func (e *Existing) reportSchemas() []string {
	out := []string{fmt.Sprintf("Schemas: %s entities=%d notServed=%d", e.schemas.Place, len(e.app.Graph.Entities), len(e.schemas.NotServed))}
	for _, r := range e.schemas.NotServed {
		out = append(out, "Schemas: not served: "+r.Name+": "+oneLine(r.Text))
	}
	if len(e.schemas.NotRun) > 0 {
		var names []string
		for _, r := range e.schemas.NotRun {
			names = append(names, r.Name+" ("+r.Text+")")
		}
		out = append(out, "Schemas: code that runs in a generated app only, and does not run here: "+strings.Join(names, ", "))
	}
	return out
}
